import { type KnownSkill, nameKey } from './resolve.ts';

export type Ranking = {
  /** Names that come first, in this order; skills that say `always` follow them (SK-13). */
  pinned: readonly string[];
  /** Names that were used lately, the latest first. */
  recent: readonly string[];
  /** Words to look for; null: every skill. */
  query: string | null;
};

/**
 * The order in which skills are shown, and so, from its end, the order in which they go when room is short: pinned, then
 * `always`, then by how well they fit the query, then recent, then by name. A query leaves out what does not fit it, but
 * for the first two.
 */
export async function rankSkills(skills: readonly KnownSkill[], ranking: Ranking): Promise<KnownSkill[]> {
  const pins = positions(ranking.pinned);
  const firm: { skill: KnownSkill; at: number }[] = [];
  const others: KnownSkill[] = [];
  for (const skill of skills) {
    const pin = pins.size === 0 ? undefined : pins.get(nameKey(skill.name));
    if (pin === undefined && !skill.offer.always) others.push(skill);
    else firm.push({ skill, at: pin ?? pins.size });
  }
  firm.sort((a, b) => a.at - b.at || byName(a.skill, b.skill));
  const first = firm.map(({ skill }) => skill);
  const query = ranking.query?.trim() ?? '';
  if (query === '') return [...first, ...byRecency(others, ranking.recent)];
  const { searchSkills } = await import('./search.ts');
  return [...first, ...searchSkills(others.sort(byName), query)];
}

/** As much of a skill as its place in the order depends on. */
type Ranked = Pick<KnownSkill, 'name' | 'description' | 'folder'> & { offer: { always: boolean } };

/** For a server: the same order for every query, with the words of the skills gathered once. */
export async function prepareSearch<T extends Ranked>(skills: readonly T[]): Promise<(query: string) => T[]> {
  const { indexSkills } = await import('./search.ts');
  const first = skills.filter(({ offer }) => offer.always).sort(byName);
  const find = indexSkills(skills.filter(({ offer }) => !offer.always).sort(byName));
  return query => [...first, ...find(query)];
}

function byRecency(skills: KnownSkill[], recent: readonly string[]): KnownSkill[] {
  if (recent.length === 0) return skills.sort(byName);
  const lately = positions(recent);
  return skills
    .map(skill => ({ skill, at: lately.get(nameKey(skill.name)) ?? Infinity }))
    .sort((a, b) => (a.at === b.at ? byName(a.skill, b.skill) : a.at - b.at))
    .map(({ skill }) => skill);
}

function positions(names: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of names) if (!found.has(nameKey(name))) found.set(nameKey(name), found.size);
  return found;
}

function byName(a: Ranked, b: Ranked): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.folder < b.folder ? -1 : 1;
}
