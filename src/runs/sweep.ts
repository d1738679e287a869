import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { isAlive, type Owner } from '../sandbox/index.ts';
import { type Store, sweepParts } from '../store/index.ts';
import { fail } from './endings.ts';
import { interruptedEvent } from './events.ts';
import type { Machine } from './plan.ts';
import { expireWaiting } from './waiting.ts';

/** SK-15: what processes that are dead left behind is ended and removed; that of living processes is left alone. */
export async function sweepAll({ store, sandbox, dataDirectory, writer }: Machine): Promise<void> {
  await sweepRuns(store);
  await store.sweep();
  for (const name of ['snapshots', 'compiled', 'egress']) await sweepParts(join(dataDirectory, name), writer);
  await sandbox.sweep();
}

/** Runs whose owner is dead were interrupted. Answers their ids. */
export async function sweepRuns(store: Store): Promise<string[]> {
  const open = await store.runs.listOfAllTenants(['preparing', 'running', 'collecting'], 10_000);
  const swept = await expireWaiting(store, Date.now());
  for (const record of open) {
    const owner = parseOwner(record.owner);
    if (owner !== null && isAlive(owner)) continue;
    const told = interruptedEvent(record, record.state);
    fail(record, { kind: 'interrupted' }, 'the process that ran it died');
    record.state = 'failed';
    record.endedAt = Date.now();
    if (await store.runs.update(record, [told])) swept.push(record.id);
  }
  return swept;
}

/** null for what is no owner: such a record has nobody who could still end it. */
function parseOwner(text: string): Owner | null {
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null;
    return typeof owner?.pid === 'number' && typeof owner.bootId === 'string' ? (owner as Owner) : null;
  } catch {
    return null; // not ours, or damaged
  }
}

/** The one whose id starts with what a person typed. */
export function requireOne(ids: readonly string[], given: string, what: 'run' | 'answer', list: string): string {
  const [id, second] = ids;
  if (id === undefined)
    throw new SkillboxError('NOT_FOUND', `there is no ${what} "${given}"`, { hint: `${list} shows them.` });
  if (second !== undefined)
    throw new SkillboxError('USAGE', `"${given}" is the beginning of several ${what}s`, {
      hint: 'Give more of the id.',
    });
  return id;
}
