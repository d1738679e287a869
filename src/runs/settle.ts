import { join } from 'node:path';
import { type Given, type GivenAnswer, lockOf } from '../approvals/index.ts';
import type { AuditEvent } from '../audit/index.ts';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import { type Answer, leavesTraces } from '../policy/index.ts';
import { thisOwner } from '../sandbox/index.ts';
import type { Durability, RunKey, RunRecord, WaitingRun } from '../store/index.ts';
import { askedEvent, decidedEvent, deniedEvent, givenEvent } from './approval-events.ts';
import { boundTo, type Considered, callKeyOf } from './consider.ts';
import { needsBuild } from './dependencies.ts';
import { fail } from './endings.ts';
import { acceptedEvent, endedEvent, queuedEvent } from './events.ts';
import { execute, type RunHooks } from './execute.ts';
import { lost } from './lost.ts';
import { networkOf } from './network.ts';
import type { Unwritten } from './pen.ts';
import { type Planned, planRun, type Runner, type RunRequest } from './plan.ts';
import type { Reply } from './question.ts';
import { openKept } from './snapshot.ts';

/** One run that is about to be accepted, refused or suspended. */
export type Case = {
  runner: Runner;
  request: RunRequest;
  considered: Considered;
  record: RunRecord;
  hooks: RunHooks;
  from: From;
};

/**
 * Where a run comes from, and so how its next word is written: it is new here, or new and found again by a key; it waited for
 * a person; or it was taken from the queue.
 */
export type From =
  | { kind: 'new' }
  | { kind: 'submitted'; key: RunKey | null; mostWaiting: number }
  | { kind: 'waiting' }
  | { kind: 'queue' };

/** How long a question stays open. */
export const WAITING_MS = 24 * 3_600_000;

/**
 * Writes down that it may run, why, and who said so; then runs it. What cannot be written does not run. `earlier`: what was
 * said and written down before it was put in line.
 */
export async function acceptRun(one: Case, reply: Reply | null, earlier: Reply | null = null): Promise<RunRecord> {
  const { runner, record, considered, hooks } = one;
  Object.assign(record, { state: 'preparing', owner: JSON.stringify(thisOwner()), ending: null, error: null });
  // What came from the queue can go back there until it has begun.
  if (one.from.kind !== 'queue') record.waiting = null;
  const accepted = acceptedEvent(record, considered.planned, runner.sandbox);
  if (reply === null) {
    // Before it happens, always; before it is on the disk, only where something could happen that outlasts a power cut.
    const durability = leavesTraces(considered.asked.grant) ? 'full' : 'later';
    const events = [decidedEvent(record, considered), accepted];
    if (beginsAtOnce(one)) return carryOn(one, earlier, hooks, { events, durability });
    await write(one, events, durability);
  } else {
    const { planned, callKey } = considered;
    // What nobody has resolved yet cannot be allowed always: that is said again when it is known what it is.
    const kept = needsBuild(planned) ? 'once' : reply.answer;
    await writeReply(one, reply, kept, given => [
      decidedEvent(record, considered),
      givenEvent(record, reply, callKey, given),
      accepted,
    ]);
  }
  return carryOn(one, reply ?? earlier, hooks);
}

/** Nothing lies between its being allowed and its first process that somebody could want to read of, or that has to be told. */
function beginsAtOnce({ from, considered: { planned } }: Case): boolean {
  return from.kind === 'new' && !needsBuild(planned) && networkOf(planned).kind === 'none';
}

/** Runs what is written down as accepted, or will be with its beginning. */
export function carryOn(
  one: Case,
  reply: Reply | null,
  hooks: RunHooks,
  unwritten: Unwritten | null = null,
): Promise<RunRecord> {
  const { runner, record, considered } = one;
  const { planned } = considered;
  return execute(
    runner,
    { record, planned, complete: (plan, signal) => complete(one, plan, reply, signal), unwritten },
    hooks,
  );
}

/** Writes down that it may run, and puts it in line; the answer is kept with it. */
export async function queueRun(one: Case, reply: Reply | null): Promise<RunRecord> {
  const { record, considered, hooks } = one;
  Object.assign(record, { state: 'queued', owner: '', ending: null, error: null });
  const decided = decidedEvent(record, considered);
  if (reply === null) await write(one, [decided, queuedEvent(record)]);
  else {
    const kept = needsBuild(considered.planned) ? 'once' : reply.answer;
    await writeReply(one, reply, kept, given => [
      decided,
      givenEvent(record, reply, considered.callKey, given),
      queuedEvent(record),
    ]);
  }
  hooks.onState(record);
  return record;
}

/** Writes down that it may not run. Nothing was started or built. */
export async function refuseRun(one: Case, reply: Reply | null, why: string): Promise<RunRecord> {
  const { record, considered, hooks } = one;
  fail(record, { kind: 'denied' }, why);
  record.state = 'failed';
  record.endedAt = Date.now();
  record.waiting = null;
  const decided = decidedEvent(record, considered);
  const ended = () => endedEvent(record);
  if (reply === null) await write(one, [decided, ended()]);
  else {
    const { callKey } = considered;
    await writeReply(one, reply, reply.answer, given => [decided, deniedEvent(record, reply, callKey, given), ended()]);
  }
  hooks.onState(record);
  return record;
}

/** Nobody could be asked: the run waits for `skillbox approve`. */
export async function suspendRun(one: Case): Promise<RunRecord> {
  const { record, considered, hooks } = one;
  record.state = 'waiting';
  fail(record, { kind: 'waiting' }, `it waits for an answer: skillbox approve show ${record.id}`);
  record.waiting = waitingOf(one);
  await write(one, [decidedEvent(record, considered), askedEvent(record, considered)]);
  hooks.onState(record);
  return record;
}

/** What it takes to start it later. */
export function waitingOf({
  request,
  considered,
  runner,
}: Pick<Case, 'request' | 'considered' | 'runner'>): WaitingRun {
  return { ...toWaiting(request, considered), askedIn: runner.judge.directory, sandbox: runner.sandbox.name };
}

function toWaiting(
  { folder, call, env, timeoutMs, capabilities = [], paths = [] }: RunRequest,
  { planned, callKey, wish }: Considered,
): Omit<WaitingRun, 'askedIn' | 'sandbox'> {
  // Of the caller's environment only what the run will have: the rest may hold anything.
  const callerEnv = Object.entries(call.callerEnv).filter(([name, value]) => planned.spec.env[name] === value);
  const kept: JsonObject = { ...call, target: { ...call.target }, callerEnv: Object.fromEntries(callerEnv) };
  return {
    expiresAt: Date.now() + WAITING_MS,
    origin: { ...folder.origin },
    folderName: folder.name,
    call: kept,
    env,
    workspace: planned.workspace,
    timeoutMs,
    ...(capabilities.length > 0 ? { capabilities: [...capabilities] } : {}),
    ...(paths.length > 0 ? { paths: [...wish.bound.grant.paths] } : {}),
    callKey,
    locks: wish.bound.locks,
  };
}

async function write(
  { runner, record, from }: Case,
  events: AuditEvent[],
  durability: Durability = 'full',
): Promise<void> {
  const { runs, queue } = runner.store;
  switch (from.kind) {
    case 'new':
      return runs.insert(record, events, durability);
    case 'submitted': {
      const recorded = await queue.record({ record, events }, from.key, from.mostWaiting);
      if (recorded === 'taken') throw new KeyTaken();
      if (recorded === 'full') throw new QueueFull();
      return;
    }
    case 'waiting':
      if (!(await runs.settle(record, events))) throw settledMeanwhile(record);
      return;
    case 'queue':
      if (!(await runs.update(record, events))) throw lost(record);
  }
}

/** Another run has the key of this one: whoever asked is answered with that. */
export class KeyTaken extends Error {}
/** Its tenant has as many that wait for a person as it may. */
export class QueueFull extends Error {}

/** The answer, the run and the events in one transaction. */
async function writeReply(
  one: Case,
  reply: Reply,
  kept: Answer,
  events: (given: GivenAnswer | null) => AuditEvent[],
): Promise<void> {
  const { runner, record, considered, from } = one;
  record.approval = { ...reply, at: Date.now() };
  // A plain no is told, not kept; and into a store that cannot be relied on nothing is written.
  if (kept === 'deny' || considered.known.problem !== null) return write(one, events(null));
  const change = { kind: from.kind === 'new' ? ('insert' as const) : ('settle' as const), record };
  if (!(await runner.answers.give(toGiven(one, { ...reply, answer: kept }), change, events)))
    throw settledMeanwhile(record);
}

function toGiven({ record, considered }: Case, { answer, channel, by }: Reply): Given {
  const { wish, callKey, terms } = considered;
  return { wish, answer, channel, by, runId: record.id, call: callKey, expiresAt: expiryOf(answer, terms.alwaysMs) };
}

/** A no does not wear off, and "once" is over with its run; that there was one run is all that is left of it. */
function expiryOf(answer: Answer, alwaysMs: number): number | null {
  return answer === 'always' ? Date.now() + alwaysMs : null;
}

/** Builds what is missing, from the snapshot that was judged. */
async function complete(one: Case, planned: Planned, reply: Reply | null, signal: AbortSignal): Promise<Planned> {
  if (!needsBuild(planned)) return planned;
  const { runner, request, considered, record, hooks } = one;
  const folder = openKept(join(runner.dataDirectory, 'snapshots'), planned.snapshot.digest, request.folder);
  try {
    const building = { onProgress: hooks.onBuild, signal };
    const built = await planRun(runner, { ...request, folder }, building);
    if (built.snapshot.digest !== planned.snapshot.digest) {
      throw new SkillboxError('SKILL_CHANGED', 'the kept copy of the skill is not what was judged');
    }
    // Planned anew after a build that may have taken minutes: a link may lead elsewhere by now, a name to another image.
    const now = { ...boundTo(built.wish, built), locks: considered.wish.bound.locks };
    if (callKeyOf(now, request, built) !== considered.callKey) {
      throw new SkillboxError(
        'SKILL_CHANGED',
        'what would run is not what was allowed: its surroundings have changed',
        {
          hint: 'Nothing was started. Look at where its workspace and image lead, and run it again.',
        },
      );
    }
    if (reply !== null && considered.known.problem === null) {
      const locks = built.layers.map(({ manager, key }) => lockOf(manager, key)).sort();
      const bound = { ...considered.wish.bound, locks };
      const resolved = {
        ...considered,
        wish: { ...considered.wish, bound },
        callKey: callKeyOf(bound, request, built),
      };
      const given = toGiven({ ...one, considered: resolved }, reply);
      await runner.answers.give(given, null, kept => [givenEvent(record, reply, resolved.callKey, kept)]);
    }
    return built;
  } finally {
    folder.close();
  }
}

function settledMeanwhile({ id }: RunRecord): SkillboxError {
  return new SkillboxError('NOT_WAITING', `the run ${id} does not wait any more`);
}
