import { visibleLine } from '../base/index.ts';
import { nameKey } from '../catalog/index.ts';
import type { Folder } from '../skill/index.ts';
import { readList } from './read-list.ts';

export const TRIGGERS_FILE = 'evals/triggers.json';

/** What somebody might ask, and whether this skill is the one for it. */
export type Trigger = { query: string; shouldTrigger: boolean };

export function readTriggers(folder: Folder): Trigger[] | null {
  const entries = readList(folder, TRIGGERS_FILE, ['query', 'should_trigger']);
  if (entries === null) return null;
  return entries.map(entry => {
    const query = entry.text('query');
    const shouldTrigger = entry.value('should_trigger');
    if (query === null) throw entry.fault('"query" is missing');
    if (typeof shouldTrigger !== 'boolean') throw entry.fault('"should_trigger" must be true or false');
    return { query, shouldTrigger };
  });
}

/** What a query chooses among. */
export type Contender = { name: string; description: string; folder: string; offer: { always: boolean } };

/**
 * This skill beside the others of the catalog. Another of the same name is left out: this is the one that would have it. So is
 * what is shown whatever is asked: it would come first for every query.
 */
export function contendersFor<T extends Contender>(own: T, others: readonly T[]): T[] {
  const key = nameKey(own.name);
  return [...others.filter(({ name, offer }) => !offer.always && nameKey(name) !== key), own];
}

/** What is wrong with an order, best first; null when the skill is first where it should be and only there. */
export function judgeTrigger(
  { shouldTrigger }: Trigger,
  own: string,
  order: readonly { name: string }[],
): string | null {
  const at = order.findIndex(({ name }) => name === own);
  if (!shouldTrigger) return at === 0 ? 'it ranks first, and should not' : null;
  if (at === 0) return null;
  const first = order[0];
  if (first === undefined) return 'no word of it is in the name or the description';
  const place = at === -1 ? 'it is not found' : `it ranks ${at + 1}`;
  return `${place}; ${visibleLine(first.name, 64)} is first`;
}
