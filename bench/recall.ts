// How often the skill that a person means is among the first that a query gives, over the example and conformance skills.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CatalogSkill, discover } from '../src/catalog/index.ts';
import { searchSkills } from '../src/catalog/search.ts';

const root = join(import.meta.dirname, '..');

/** `wants` is the name of an example, or a folder of conformance cases, any of which will do. */
type Query = { query: string; wants: string };
export type Recall = { queries: number; at1: number; at3: number; at5: number; missed: string[] };

export function measureRecall(): Recall {
  const queries = JSON.parse(readFileSync(join(root, 'bench/queries.json'), 'utf8')) as Query[];
  const places = ['examples', 'conformance'].map(name => ({ kind: 'named' as const, path: join(root, name) }));
  const skills = discover(places).skills;
  const ranks = queries.map(({ query, wants }) => {
    const found = searchSkills(skills, query).findIndex(skill => fits(skill, wants));
    return found === -1 ? Infinity : found;
  });
  const share = (k: number) => ranks.filter(rank => rank < k).length / queries.length;
  const missed = queries.filter((_, index) => (ranks[index] ?? Infinity) >= 5).map(({ query }) => query);
  return { queries: queries.length, at1: share(1), at3: share(3), at5: share(5), missed };
}

function fits({ name, folder }: CatalogSkill, wants: string): boolean {
  return wants.includes('/') ? folder.startsWith(join(root, wants)) : name === wants;
}
