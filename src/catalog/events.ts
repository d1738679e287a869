import type { JsonObject } from '../base/index.ts';
import type { Activation } from './activate.ts';
import type { CatalogSkill, Discovery } from './discover.ts';

/** What the journal should hear of; who caused it, the caller knows. */
export type CatalogEvent = { type: 'skill.activated' | 'catalog.changed'; subject: string | null; data: JsonObject };

/** To be written before the text is given away (AS-14). */
export function activationEvent({ name, dialect, directory, tokens, fingerprint }: Activation): CatalogEvent {
  return { type: 'skill.activated', subject: name, data: { dialect, directory, tokens, fingerprint } };
}

/** What came, went or changed between two looks, by folder; null when nothing did. */
export function changeEvent(now: Discovery, before: Discovery): CatalogEvent | null {
  const [old, fresh] = [textsOf(before), textsOf(now)];
  const added = [...fresh.keys()].filter(folder => !old.has(folder));
  const removed = [...old.keys()].filter(folder => !fresh.has(folder));
  const changed = [...fresh].filter(([folder, text]) => old.has(folder) && old.get(folder) !== text);
  if (added.length + removed.length + changed.length === 0) return null;
  const data = { added, removed, changed: changed.map(([folder]) => folder) };
  return { type: 'catalog.changed', subject: null, data };
}

function textsOf({ skills, broken }: Discovery): Map<string, string> {
  const texts = skills.map((skill): [string, string] => [skill.folder, describe(skill)]);
  return new Map([...texts, ...broken.map(({ folder, fault }): [string, string] => [folder, JSON.stringify(fault)])]);
}

function describe({ name, description, dialect, offer, realFolder }: CatalogSkill): string {
  return JSON.stringify([name, description, dialect, offer, realFolder]);
}
