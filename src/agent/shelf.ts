import { buildCatalog, type CatalogTool, type KnownSkill } from '../catalog/index.ts';
import type { Disclosed } from '../disclose.ts';
import type { Mode } from '../skill/index.ts';

/** The skills that agents are offered now. */
export type Offered = {
  skills: readonly KnownSkill[];
  byName: ReadonlyMap<string, KnownSkill>;
  /** The tools of gibberish skills, each under a name of its own. */
  tools: readonly CatalogTool[];
  /** AS-10: names and descriptions within a budget; empty when there is nothing to show. */
  catalog: string;
};

export type Shelf = {
  offered(): Promise<Offered>;
};

export type ShelfOptions = { mode: Mode; catalogTokens: number };

/** Tokens of names and descriptions that stand in the description of `activate_skill`. */
export const CATALOG_TOKENS = 4000;

/** Read anew only when `current` gives another object than before. */
export function createShelf(current: () => Disclosed, { mode, catalogTokens }: ShelfOptions): Shelf {
  let known: { of: Disclosed; offered: Promise<Offered> } | null = null;
  return {
    offered() {
      const now = current();
      if (known === null || known.of !== now) known = { of: now, offered: lookAt(now, mode, catalogTokens) };
      return known.offered;
    },
  };
}

async function lookAt({ resolution, hidden }: Disclosed, mode: Mode, catalogTokens: number): Promise<Offered> {
  const all = await buildCatalog(resolution, { format: 'openai', mode, hidden });
  const skills = all.shown.map(({ skill }) => skill);
  const { text } = await buildCatalog({ skills }, { format: 'xml', mode, hidden, budget: catalogTokens });
  return { skills, byName: new Map(skills.map(skill => [skill.name, skill])), tools: all.tools, catalog: text };
}
