import type { Trust } from '../policy/index.ts';
import type { Discovery } from './discover.ts';
import type { CatalogSkill } from './found.ts';

/** A skill with what anybody vouches for it. */
export type KnownSkill = CatalogSkill & { trust: Trust };

export type Resolution = {
  /** Who holds each name, in the order of discovery. */
  skills: readonly KnownSkill[];
  /** Found under a name that an earlier place holds (AS-09, SK-12). */
  shadowed: readonly { skill: KnownSkill; by: KnownSkill }[];
  /** Found where nobody vouches for the source and nobody named the place: they hold no name and are not disclosed. */
  untrusted: readonly KnownSkill[];
};

/** Says how far a skill's source is vouched for. What shadows another inherits nothing: each is asked about alone (SK-12). */
export type TrustOf = (skill: CatalogSkill) => Trust;

/** Without anybody's word: what lies in a project was written by whoever wrote the project. */
export const trustByPlace: TrustOf = ({ place }) =>
  place.kind === 'project' ? 'untrusted' : place.kind === 'bundled' ? 'bundled' : 'user';

/**
 * Gives each name to one skill: the first in the order of the places, and of the paths within one. A skill that does not
 * load or is not trusted takes no name from anybody, so a cloned repository can't make a user's own skill vanish.
 */
export function resolveNames(discovery: Pick<Discovery, 'skills'>, trustOf: TrustOf): Resolution {
  const holders = new Map<string, KnownSkill>();
  const shadowed: { skill: KnownSkill; by: KnownSkill }[] = [];
  const untrusted: KnownSkill[] = [];
  for (const found of discovery.skills) {
    const skill = withTrust(found, trustOf(found));
    const key = nameKey(skill.name);
    const holder = holders.get(key);
    if (isWithheld(skill)) untrusted.push(skill);
    else if (holder === undefined) holders.set(key, skill);
    // By another way the same folder: it does not shadow itself.
    else if (holder.realFolder !== skill.realFolder) shadowed.push({ skill, by: holder });
  }
  return { skills: [...holders.values()], shadowed, untrusted };
}

/** Field by field: of tens of thousands, an object that is copied and then grows takes half as much room again. */
function withTrust(found: CatalogSkill, trust: Trust): KnownSkill {
  const { dialect, name, description, offer, place, folder, realFolder, location, nested, ours } = found;
  return { dialect, name, description, offer, place, folder, realFolder, location, nested, ours, trust };
}

/** A place that the caller named is shown as asked. That vouches for nothing: its skills run as untrusted ones do. */
function isWithheld({ trust, place }: KnownSkill): boolean {
  return trust === 'untrusted' && place.kind !== 'named' && place.kind !== 'configured';
}

const PLAIN = /^[a-z0-9-]*$/;

/** `Git` and `git` are one name: a model would not tell them apart. */
export function nameKey(name: string): string {
  // As most are written already.
  if (PLAIN.test(name)) return name;
  return name.normalize('NFKC').toLowerCase();
}
