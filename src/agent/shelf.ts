import { buildCatalog, type CatalogTool, hiddenBecause, type KnownSkill, prepareSearch } from '../catalog/index.ts';
import type { Disclosed } from '../disclose.ts';
import type { Mode } from '../skill/index.ts';

/** As much of a skill as an agent is told in a list. */
export type OfferedSkill = Pick<KnownSkill, 'name' | 'description' | 'dialect' | 'location' | 'trust'>;

/** The skills that agents are offered now. */
export type Offered<S extends OfferedSkill = OfferedSkill> = {
  skills: readonly S[];
  byName: ReadonlyMap<string, S>;
  /** The tools of gibberish skills, each under a name of its own. */
  tools: readonly CatalogTool[];
  /** AS-10: names and descriptions within a budget; empty when there is nothing to show. */
  catalog: string;
  /** Best first. */
  search: (query: string) => Promise<readonly S[]>;
};

export type Shelf<S extends OfferedSkill = OfferedSkill> = {
  /** The same object as long as nothing has changed. */
  offered(): Promise<Offered<S>>;
};

export type ShelfOptions = { mode: Mode; catalogTokens: number };

/** Tokens of names and descriptions that stand in the description of `activate_skill`. */
export const CATALOG_TOKENS = 4000;

/** Read anew only when `current` gives another object than before. */
export function createShelf(current: () => Disclosed, { mode, catalogTokens }: ShelfOptions): Shelf<KnownSkill> {
  let known: { of: Disclosed; offered: Promise<Offered<KnownSkill>> } | null = null;
  let isFresh = false;
  return {
    offered() {
      // A call asks twice, for its tool and for its skill, and waits for nobody in between.
      if (isFresh && known !== null) return known.offered;
      const now = current();
      if (known === null || known.of !== now) known = { of: now, offered: lookAt(now, mode, catalogTokens) };
      isFresh = true;
      process.nextTick(() => {
        isFresh = false;
      });
      return known.offered;
    },
  };
}

/** More than fit into the budget at their shortest. */
const MOST_SHOWN = 200;

async function lookAt(
  { resolution, hidden }: Disclosed,
  mode: Mode,
  catalogTokens: number,
): Promise<Offered<KnownSkill>> {
  const audience = { mode, hidden, platform: process.platform };
  const skills = resolution.skills
    .filter(skill => hiddenBecause(skill, audience) === null)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const { text } = await buildCatalog(
    { skills },
    { ...audience, format: 'xml', budget: catalogTokens, limit: MOST_SHOWN },
  );
  // Of all formats this one reads the tools and renders the least.
  const { tools } = await buildCatalog({ skills }, { ...audience, format: 'gibberish' });
  let find: ReturnType<typeof prepareSearch<KnownSkill>> | null = null;
  return {
    skills,
    byName: new Map(skills.map(skill => [skill.name, skill])),
    tools,
    catalog: text,
    async search(query) {
      find ??= prepareSearch(skills);
      return (await find)(query);
    },
  };
}
