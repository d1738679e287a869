import { basename } from 'node:path';
import { suggest } from '../base/index.ts';
import type { Discovery } from './discover.ts';
import type { BrokenSkill } from './found.ts';
import { type Audience, hiddenBecause } from './offer.ts';
import { type KnownSkill, nameKey, type Resolution } from './resolve.ts';

/** Everything that was found under a name, and what became of it: the answer to "why this one, why not that one". */
export type NameReport = {
  name: string;
  /** In the order in which the places are asked; the first entry with `holds` is what the name means. */
  candidates: readonly Candidate[];
  /** The nearest name that exists, where this one does not. */
  meant: string | null;
};

export type Candidate = {
  folder: string;
  realFolder: string;
  place: string;
  placePath: string;
  holds: boolean;
  /** Whether models are told of it. */
  shown: boolean;
  /** One sentence. */
  why: string;
  nested: readonly string[];
};

export function explainName(
  name: string,
  discovery: Discovery,
  resolution: Resolution,
  audience: Audience,
): NameReport {
  const key = nameKey(name);
  const order = new Map(discovery.places.map((place, index) => [place, index]));
  const found: { at: number; folder: string; candidate: Candidate }[] = [];
  const add = (skill: KnownSkill | BrokenSkill, holds: boolean, shown: boolean, why: string): void => {
    const { folder, realFolder, place } = skill;
    const nested = 'nested' in skill ? skill.nested : [];
    const candidate = { folder, realFolder, place: place.kind, placePath: place.path, holds, shown, why, nested };
    found.push({ at: order.get(place) ?? Infinity, folder, candidate });
  };
  for (const skill of resolution.skills) {
    if (nameKey(skill.name) !== key) continue;
    const hidden = hiddenBecause(skill, audience);
    add(
      skill,
      true,
      hidden === null,
      hidden === null ? 'It holds the name.' : `It holds the name, but is hidden: ${hidden}.`,
    );
  }
  for (const { skill, by } of resolution.shadowed) {
    if (nameKey(skill.name) === key) add(skill, false, false, `Shadowed by ${by.folder}, which comes first.`);
  }
  for (const skill of resolution.untrusted) {
    if (nameKey(skill.name) === key)
      add(skill, false, false, 'Not trusted, so it holds no name and models are not told of it.');
  }
  for (const broken of discovery.broken) {
    if (nameKey(broken.name) === key) add(broken, false, false, `It does not load: ${broken.fault.message}.`);
  }
  for (const skill of [...resolution.skills, ...resolution.shadowed.map(each => each.skill), ...resolution.untrusted]) {
    for (const folder of skill.nested) {
      // It was not read: by its folder is how a person knows it.
      if (nameKey(basename(folder)) !== key) continue;
      const inner = { ...skill, folder, realFolder: folder, nested: [] };
      add(inner, false, false, `It lies inside another skill, ${skill.folder}, and is not offered.`);
    }
  }
  found.sort((a, b) => a.at - b.at || (a.folder < b.folder ? -1 : 1));
  const names = [...resolution.skills, ...resolution.untrusted, ...discovery.broken].map(skill => skill.name);
  return {
    name,
    candidates: found.map(({ candidate }) => candidate),
    meant: found.length > 0 ? null : suggest(name, names),
  };
}
