import type { Skillbox } from '../app.ts';
import type { KnownSkill } from '../catalog/index.ts';
import type { Library } from './library.ts';
import { createLocalLibrary } from './local-library.ts';
import type { Shelf } from './shelf.ts';

/** What the tools are made from. What they then do, the library of whoever calls does. */
export type Desk = {
  shelf: Shelf;
  /** null on a server: whoever calls it works on another machine, and is not the person before this one. */
  own: Own | null;
  /** Also under the names of the workspace format: `skill`, `skill_resource`, `skill_script`. */
  workspaceNames: boolean;
};

/** What only a machine of one's own has: folders to work in, and a person to ask. */
export type Own = { skillbox: Skillbox };

/** The desk of one user on one machine: everybody who calls is that user. */
export type LocalDesk = Desk & { own: Own; library: Library };

export type LocalDeskOptions = {
  skillbox: Skillbox;
  shelf: Shelf<KnownSkill>;
  /** The environment of the one who asks, of which a dialect may take some names (GB-12). */
  env: Readonly<Record<string, string>>;
  workspaceNames: boolean;
};

export function createLocalDesk({ skillbox, shelf, env, workspaceNames }: LocalDeskOptions): LocalDesk {
  return { shelf, own: { skillbox }, workspaceNames, library: createLocalLibrary(skillbox, shelf, env) };
}
