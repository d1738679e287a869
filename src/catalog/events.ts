import type { JsonObject } from '../base/index.ts';
import type { Activation } from './activate.ts';
import type { Discovery } from './discover.ts';
import type { CatalogSkill } from './found.ts';

/** What the journal should hear of; who caused it, the caller knows. */
export type CatalogEvent = {
  type: 'skill.activated' | 'catalog.changed' | 'file.written';
  subject: string | null;
  data: JsonObject;
};

/** To be written before the text is given away (AS-14). `client` is what asked for it. */
export function activationEvent(
  { name, dialect }: Pick<Activation, 'name' | 'dialect'>,
  digest: string,
  client: string,
): CatalogEvent {
  return { type: 'skill.activated', subject: name, data: { digest, dialect, client } };
}

type Seen = { name: string; folder: string; text: string };

/** What came, went or changed between two looks; null when nothing did. */
export function changeEvent(now: Discovery, before: Discovery): CatalogEvent | null {
  const [old, fresh] = [entriesOf(before), entriesOf(now)];
  const added = [...fresh.values()].filter(({ folder }) => !old.has(folder));
  const removed = [...old.values()].filter(({ folder }) => !fresh.has(folder));
  const changed = [...fresh.values()].filter(({ folder, text }) => (old.get(folder)?.text ?? text) !== text);
  if (added.length + removed.length + changed.length === 0) return null;
  const data = { added: added.map(identify), removed: removed.map(identify), changed: changed.map(identify) };
  return { type: 'catalog.changed', subject: null, data };
}

function identify({ name, folder }: Seen): JsonObject {
  return { name, folder };
}

function entriesOf({ skills, broken }: Discovery): Map<string, Seen> {
  const entries = [
    ...skills.map(skill => ({ name: skill.name, folder: skill.folder, text: describe(skill) })),
    ...broken.map(({ name, folder, fault }) => ({ name, folder, text: JSON.stringify(fault) })),
  ];
  return new Map(entries.map(entry => [entry.folder, entry]));
}

function describe({ name, description, dialect, offer, realFolder }: CatalogSkill): string {
  return JSON.stringify([name, description, dialect, offer, realFolder]);
}
