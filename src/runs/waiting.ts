import { join } from 'node:path';
import type { Actor } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import { type Call, readSkill } from '../dialects/index.ts';
import type { DialectName, Folder } from '../skill/index.ts';
import type { RunRecord, Store, WaitingRun } from '../store/index.ts';
import { expiredEvent } from './approval-events.ts';
import { callKeyOf, considerRun, mayAnswer } from './consider.ts';
import { fail } from './endings.ts';
import { canceledEvent, endedEvent, localActor } from './events.ts';
import type { RunHooks } from './execute.ts';
import { planRun, type Runner, type RunRequest } from './plan.ts';
import type { Question, Reply } from './question.ts';
import { describeDecision } from './record.ts';
import { acceptRun, type Case, refuseRun, WAITING_MS } from './settle.ts';
import { openKept } from './snapshot.ts';
import { questionOf } from './start.ts';

/** What a waiting run asks, as it stands now. */
export async function readQuestion(runner: Runner, record: RunRecord): Promise<Question> {
  return reconsider(runner, record, one => questionOf(one));
}

/**
 * Answers the question of a waiting run, and starts it from its snapshot when the answer is yes. Everything is judged again
 * first: the policy may have changed since, or the image, or the packages.
 */
export async function settleRun(runner: Runner, record: RunRecord, reply: Reply, hooks: RunHooks): Promise<RunRecord> {
  return reconsider(runner, record, async one => {
    const { decision } = one.considered;
    const going = { ...one, hooks };
    record.decision = describeDecision(decision, one.considered.asked.trust);
    if (decision.verdict === 'deny') return refuseRun(going, null, decision.reasons.join(' '));
    if (reply.answer === 'deny') return refuseRun(going, reply, 'a person denied it');
    const stale = staleness(record, one);
    if (stale !== null) return refuseRun(going, null, stale);
    if (decision.verdict === 'allow' && reply.answer !== 'deny-always') return acceptRun(going, null);
    if (!mayAnswer(decision, reply.answer, reply.channel)) {
      throw new SkillboxError(
        'ANSWER_REFUSED',
        `the policy takes no "${reply.answer}" that comes by ${reply.channel}`,
        {
          details: { answers: Object.fromEntries(decision.answers) },
        },
      );
    }
    return reply.answer === 'deny-always' ? refuseRun(going, reply, 'a person denied it') : acceptRun(going, reply);
  });
}

/** A run that waits has no process: whoever cancels it ends it. False when it waits no more. */
export async function cancelWaiting(store: Store, record: RunRecord, by: Actor): Promise<boolean> {
  const asked = canceledEvent(by, record);
  endWaiting(record, 'canceled', 'the run was canceled before anybody allowed it');
  return store.runs.settle(record, [asked, endedEvent(record, by)]);
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

async function reconsider<T>(
  runner: Runner,
  record: RunRecord,
  body: (one: Omit<Case, 'hooks'>) => Promise<T>,
): Promise<T> {
  const waiting = requireWaiting(record);
  const folder = openKept(join(runner.dataDirectory, 'snapshots'), record.skill.digest, {
    origin: waiting.origin,
    name: waiting.folderName,
  });
  try {
    const request = toRequest(record, waiting, folder);
    const planned = await planRun(runner, request, null);
    const considered = await considerRun(runner, request, planned);
    return await body({ runner, request, considered, record, isNew: false });
  } finally {
    folder.close();
  }
}

function requireWaiting({ id, state, waiting }: RunRecord): WaitingRun {
  if (state === 'waiting' && waiting !== null) return waiting;
  throw new SkillboxError('NOT_WAITING', `the run ${id} does not wait for an answer: it is ${state}`);
}

function toRequest({ skill: known }: RunRecord, waiting: WaitingRun, folder: Folder): RunRequest {
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: known.dialect as DialectName });
  if (skill === null) throw new SkillboxError('INVALID_SKILL', 'the kept copy of the skill cannot be read any more');
  const { call, env, workspace, timeoutMs, askedIn } = waiting;
  return { skill, folder, call: call as unknown as Call, env, workspace, timeoutMs, askedIn };
}

/** Why what would start now is not what was asked; null when it is. */
function staleness(record: RunRecord, { request, considered }: Omit<Case, 'hooks'>): string | null {
  const waiting = requireWaiting(record);
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
