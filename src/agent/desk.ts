import type { Skillbox } from '../app.ts';
import type { Shelf } from './shelf.ts';

/** Everything that the tools work with. */
export type Desk = {
  skillbox: Skillbox;
  shelf: Shelf;
  /** The environment of the one who asks, of which a dialect may take some names (GB-12). */
  env: Readonly<Record<string, string>>;
  /** Also under the names of the workspace format: `skill`, `skill_resource`, `skill_script`. */
  workspaceNames: boolean;
};
