import { join } from 'node:path';
import type { Actor } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import { type Call, readSkill } from '../dialects/index.ts';
import type { DialectName, Folder } from '../skill/index.ts';
import type { RunRecord, Store, WaitingRun } from '../store/index.ts';
import { deniedEvent, expiredEvent } from './approval-events.ts';
import { callKeyOf, considerRun, mayAnswer } from './consider.ts';
import { fail, failBy } from './endings.ts';
import { canceledEvent, endedEvent, localActor, requeuedEvent } from './events.ts';
import type { RunHooks } from './execute.ts';
import { planRun, type Runner, type RunRequest } from './plan.ts';
import type { Question, Reply } from './question.ts';
import { describeDecision } from './record.ts';
import { acceptRun, type Case, type From, queueRun, refuseRun, WAITING_MS } from './settle.ts';
import { openKept } from './snapshot.ts';
import { questionOf } from './start.ts';

/** The sandbox that a waiting run was planned for; null where it does not wait, or was recorded before that was kept. */
export function sandboxOf({ waiting }: Pick<RunRecord, 'waiting'>): string | null {
  return waiting?.sandbox ?? null;
}

/** What a waiting run asks, as it stands now. */
export async function readQuestion(runner: Runner, record: RunRecord): Promise<Question> {
  return reconsider(runner, record, WAITED, one => questionOf(one));
}

/**
 * Answers the question of a waiting run, and starts it from its snapshot when the answer is yes. Everything is judged again
 * first: the policy may have changed since, or the image, or the packages.
 */
export async function settleRun(runner: Runner, record: RunRecord, reply: Reply, hooks: RunHooks): Promise<RunRecord> {
  return orDeny(runner, record, reply, hooks, () =>
    reconsider(runner, record, WAITED, one => takeAnswer({ ...one, hooks }, reply, acceptRun)),
  );
}

/** The same for a server, where a yes puts the run in the queue: whoever takes it from there judges once more. */
export async function answerRun(runner: Runner, record: RunRecord, reply: Reply, hooks: RunHooks): Promise<RunRecord> {
  return orDeny(runner, record, reply, hooks, () =>
    reconsider(runner, record, WAITED, one => takeAnswer({ ...one, hooks }, reply, queueRun)),
  );
}

/** A no needs nothing of what the run was: it ends also one whose image, capability or copy is not there any more. */
async function orDeny(
  { store }: Runner,
  record: RunRecord,
  reply: Reply,
  hooks: RunHooks,
  settle: () => Promise<RunRecord>,
): Promise<RunRecord> {
  try {
    return await settle();
  } catch (error) {
    if (reply.answer !== 'deny' || record.state !== 'waiting' || record.waiting === null) throw error;
    const told = deniedEvent(record, reply, record.waiting.callKey, null);
    endWaiting(record, 'denied', 'a person denied it');
    if (!(await store.runs.settle(record, [told, endedEvent(record)]))) throw error;
    hooks.onState(record);
    return record;
  }
}

const WAITED: From = { kind: 'waiting' };

async function takeAnswer(
  one: Case,
  reply: Reply,
  go: (one: Case, reply: Reply | null) => Promise<RunRecord>,
): Promise<RunRecord> {
  const { record } = one;
  const { decision } = one.considered;
  record.decision = describeDecision(decision, one.considered.asked.trust);
  if (decision.verdict === 'deny') return refuseRun(one, null, decision.reasons.join(' '));
  if (reply.answer === 'deny') return refuseRun(one, reply, 'a person denied it');
  const stale = staleness(record, one);
  if (stale !== null) return refuseRun(one, null, stale);
  if (decision.verdict === 'allow' && reply.answer !== 'deny-always') return go(one, null);
  if (!mayAnswer(decision, reply.answer, reply.channel)) {
    throw new SkillboxError('ANSWER_REFUSED', `the policy takes no "${reply.answer}" that comes by ${reply.channel}`, {
      details: { answers: Object.fromEntries(decision.answers) },
    });
  }
  if (reply.answer === 'deny-always') return refuseRun(one, reply, 'a person denied it');
  await requireSecrets(one);
  return go(one, reply);
}

/** A yes to what could not begin would use the run up: it waits on, and is allowed when they are there. */
async function requireSecrets({ runner, considered }: Case): Promise<void> {
  const unset = await runner.lending.unset(runner.caller, considered.asked.grant.secrets);
  if (unset.length === 0) return;
  throw new SkillboxError('SECRET_MISSING', `not set: ${unset.join(', ')}; the run waits on`, {
    hint: 'Store each with `skillbox secret set NAME`, then answer again.',
    details: { unset },
  });
}

/** A run that waits has no process: whoever cancels it ends it. False when it waits no more. */
export async function cancelWaiting(store: Store, record: RunRecord, by: Actor): Promise<boolean> {
  const asked = canceledEvent(by, record);
  endWaiting(record, 'canceled', 'the run was canceled before anybody allowed it');
  return store.runs.settle(record, [asked, endedEvent(record, by)]);
}

/** The same for one whose turn has not come. */
export async function cancelQueued(store: Store, record: RunRecord, by: Actor): Promise<boolean> {
  const asked = canceledEvent(by, record);
  endWaiting(record, 'canceled', 'the run was canceled before its turn came');
  return store.queue.leave(record, [asked, endedEvent(record, by)]);
}

/** Somebody asked for its end while another process had it, which then put it back in line. False where nobody did. */
export async function endIfCanceled(store: Store, record: RunRecord, hooks: RunHooks): Promise<boolean> {
  if (!(await store.runs.isCancelRequested(record.id))) return false;
  endWaiting(record, 'canceled', 'the run was canceled before it had begun');
  if (await store.runs.update(record, [endedEvent(record, localActor())])) hooks.onState(record);
  return true;
}

/** A run that was taken from the queue and cannot be started: its image is gone, or the copy of its skill. */
export async function failClaimed(store: Store, record: RunRecord, error: unknown, hooks: RunHooks): Promise<void> {
  // What had been accepted has told of its end by itself.
  if (record.state !== 'preparing' || record.waiting === null) return;
  failBy(record, error);
  record.state = 'failed';
  record.endedAt = Date.now();
  record.waiting = null;
  if (await store.runs.update(record, [endedEvent(record, localActor())])) hooks.onState(record);
}

/** A back end was away before anything of it was begun: it waits on in line. False when it was somebody else's to say. */
export async function putBack(store: Store, record: RunRecord, hooks: RunHooks): Promise<boolean> {
  if (record.state !== 'preparing' || record.waiting === null) return false;
  if (!(await store.queue.requeue({ ...record, owner: '' }, [requeuedEvent(record)]))) return false;
  Object.assign(record, { state: 'queued', owner: '', attempt: record.attempt + 1 });
  hooks.onState(record);
  return true;
}

/** Questions that nobody answered in time. A dead owner is no reason: a run that waits needs none. */
export async function expireWaiting(store: Store, now: number): Promise<string[]> {
  const expired: string[] = [];
  const waiting = await store.runs.listOfAllTenants(['waiting'], 10_000);
  for (const record of waiting) {
    if ((record.waiting?.expiresAt ?? record.createdAt + WAITING_MS) > now) continue;
    const told = expiredEvent(record);
    endWaiting(record, 'denied', 'nobody answered in time');
    if (await store.runs.settle(record, [told, endedEvent(record, localActor())])) expired.push(record.id);
  }
  return expired;
}

function endWaiting(record: RunRecord, kind: 'canceled' | 'denied', message: string): void {
  fail(record, { kind }, message);
  record.state = 'failed';
  record.endedAt = Date.now();
  record.waiting = null;
}

/** Plans and judges anew what was recorded: the policy may have changed since, or the image, or the packages. */
export async function reconsider<T>(
  runner: Runner,
  record: RunRecord,
  from: From,
  body: (one: Omit<Case, 'hooks'>) => Promise<T>,
): Promise<T> {
  const waiting = requireWaiting(record, from);
  const folder = openKept(join(runner.dataDirectory, 'snapshots'), record.skill.digest, {
    origin: waiting.origin,
    name: waiting.folderName,
  });
  try {
    const request = toRequest(record, waiting, folder);
    const planned = await planRun(runner, request, null);
    const considered = await considerRun(runner, request, planned);
    return await body({ runner, request, considered, record, from });
  } finally {
    folder.close();
  }
}

function requireWaiting({ id, state, waiting }: RunRecord, from: From): WaitingRun {
  const expected = from.kind === 'queue' ? 'preparing' : 'waiting';
  if (state === expected && waiting !== null) return waiting;
  throw new SkillboxError('NOT_WAITING', `the run ${id} does not wait for an answer: it is ${state}`);
}

function toRequest({ skill: known }: RunRecord, waiting: WaitingRun, folder: Folder): RunRequest {
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: known.dialect as DialectName });
  if (skill === null) throw new SkillboxError('INVALID_SKILL', 'the kept copy of the skill cannot be read any more');
  const { call, env, workspace, timeoutMs, askedIn, capabilities = [], paths = [] } = waiting;
  const asked = { ...skill, version: skill.version ?? known.version };
  return {
    skill: asked,
    folder,
    call: call as unknown as Call,
    env,
    workspace,
    timeoutMs,
    askedIn,
    capabilities,
    paths,
  };
}

/** Why what would start now is not what was asked; null when it is. */
export function staleness(record: RunRecord, { request, considered, from }: Omit<Case, 'hooks'>): string | null {
  const waiting = requireWaiting(record, from);
  const { wish, planned } = considered;
  if (planned.snapshot.digest !== record.skill.digest) return 'the kept copy of the skill was changed';
  // What was not resolved when it was asked may be so by now; nobody was told otherwise.
  const open = waiting.locks.filter(lock => lock.endsWith(':unresolved')).map(lock => lock.split(':')[0]);
  const locks = wish.bound.locks.map(lock => (open.includes(lock.split(':')[0]) ? maskOf(lock) : lock));
  return callKeyOf({ ...wish.bound, locks }, request, planned) === waiting.callKey
    ? null
    : 'what would run is not what was asked: its image, packages, limits or surroundings have changed';
}

function maskOf(lock: string): string {
  return `${lock.split(':')[0]}:unresolved`;
}
