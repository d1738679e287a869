import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { isAlive, type Owner, thisOwner } from '../sandbox/index.ts';
import { type Instance, type RunLogs, type RunRecord, type Store, sweepParts } from '../store/index.ts';
import { fail } from './endings.ts';
import { endedEvent, interruptedEvent, localActor, requeuedEvent } from './events.ts';
import type { Machine } from './plan.ts';
import { expireWaiting } from './waiting.ts';

export type SweepOptions = {
  /** Longer without a sign of life, and a process elsewhere is taken for dead. */
  deadAfterMs: number;
  /** A run that has taken so many processes with it before it began is not tried again. */
  attempts: number;
  /** The owner lives, and knows nothing of the run. */
  isAbandoned: (record: RunRecord) => boolean;
};

const SWEEP_OPTIONS: SweepOptions = { deadAfterMs: 30_000, attempts: 3, isAbandoned: () => false };

/** SK-15: what processes that are dead left behind is ended and removed; that of living processes is left alone. */
export async function sweepAll(
  { store, sandbox, dataDirectory, writer }: Machine,
  options: Partial<SweepOptions> = {},
): Promise<void> {
  await sweepRuns(store, options);
  await store.sweep();
  for (const name of ['snapshots', 'compiled', 'egress', 'uploads'])
    await sweepParts(join(dataDirectory, name), writer);
  await sandbox.sweep();
}

/**
 * Runs whose owner is dead: what had not begun and can be started again goes back to the queue, the others were interrupted.
 * Answers the ids of all whose state is another one now.
 */
export async function sweepRuns(store: Store, partial: Partial<SweepOptions> = {}): Promise<string[]> {
  const options = { ...SWEEP_OPTIONS, ...partial };
  const open = await store.runs.listOfAllTenants(['preparing', 'running', 'collecting'], 10_000);
  const swept = await expireWaiting(store, Date.now());
  if (open.length === 0) return swept;
  const instances = await store.queue.instances();
  for (const record of open) {
    const owner = parseOwner(record.owner);
    const seenSince = Date.now() - options.deadAfterMs;
    const lives = owner !== null && isLiving(owner, record.owner, instances, seenSince);
    if (lives && !options.isAbandoned(record)) continue;
    if (await settleDead(store, record, options, lives ? UNTOLD : DIED)) swept.push(record.id);
  }
  return swept;
}

/** Of the same machine the kernel says whether it lives; of others, and of other containers, its last sign of life. */
function isLiving(owner: Owner, text: string, instances: readonly Instance[], seenSince: number): boolean {
  const me = thisOwner();
  if (owner.bootId === me.bootId && owner.pidNamespace === me.pidNamespace) return isAlive(owner);
  const known = instances.find(instance => instance.owner === text);
  return known === undefined ? isAlive(owner) : known.seenAt > seenSince;
}

const DIED = 'the process that ran it died';
const UNTOLD = 'how it ended could not be written down; the log of the server says why';

async function settleDead(store: Store, listed: RunRecord, { attempts }: SweepOptions, why: string): Promise<boolean> {
  // A list leaves out what a run is started with.
  const record = listed.waiting === null ? listed : await store.runs.get(listed.tenant, listed.id);
  if (record === null || record.attempt !== listed.attempt || record.state !== listed.state) return false;
  if (record.state === 'preparing' && record.waiting !== null) {
    if (await store.runs.isCancelRequested(record.id)) {
      end(record, 'canceled', 'the run was canceled before it had begun');
      return store.runs.update(record, [endedEvent(record, localActor())]);
    }
    if (record.attempt < attempts) return store.queue.requeue({ ...record, owner: '' }, [requeuedEvent(record)]);
  }
  const told = interruptedEvent(record, record.state);
  end(record, 'interrupted', why);
  record.logBytes = await lengthOf(store.logs, record.id);
  return store.runs.update(record, [told]);
}

const LOOK_BYTES = 1024 * 1024;

/**
 * What it had printed: nobody was there to count it, and what is not counted is in no quota and kept for ever. An end must be
 * told though the log cannot be read just now.
 */
async function lengthOf(logs: RunLogs, id: string): Promise<number> {
  let length = 0;
  try {
    for (let offset = 0; ; ) {
      const { entries, offset: next } = await logs.read(id, offset, LOOK_BYTES);
      if (entries.length === 0) return length;
      length += entries.reduce((sum, { bytes }) => sum + bytes.length, 0);
      offset = next;
    }
  } catch {
    return length;
  }
}

function end(record: RunRecord, kind: 'canceled' | 'interrupted', message: string): void {
  fail(record, { kind }, message);
  record.state = 'failed';
  record.endedAt = Date.now();
  record.waiting = null;
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
