import type { Admission, RunRecord } from '../store/index.ts';
import { decidedEvent } from './approval-events.ts';
import { considerRun } from './consider.ts';
import { acceptedEvent, queuedEvent } from './events.ts';
import type { RunHooks } from './execute.ts';
import { planRun, type Runner, type RunRequest } from './plan.ts';
import type { Reply } from './question.ts';
import { describeDecision, newRecord } from './record.ts';
import { acceptRun, type Case, carryOn, KeyTaken, QueueFull, refuseRun, suspendRun, waitingOf } from './settle.ts';
import { reconsider, staleness } from './waiting.ts';

/** What whoever submits a run knows of the line. */
export type Ticket = Pick<Admission, 'key' | 'hasRoom' | 'quotas' | 'defaults' | 'queueLimit'>;

export type Submitted =
  /** It has its place: whoever submitted it runs it now. */
  | { kind: 'begun'; record: RunRecord; carryOn: (hooks: RunHooks) => Promise<RunRecord> }
  /** It waits for its turn or for a person, or was denied. */
  | { kind: 'kept'; record: RunRecord }
  | { kind: 'full' }
  /** Another run has the key. */
  | { kind: 'taken' };

/** Plans, judges and records a run of a server. What is recorded is never lost; what is to run is run by whoever has room. */
export async function submitRun(runner: Runner, request: RunRequest, ticket: Ticket): Promise<Submitted> {
  const planned = await planRun(runner, request, null);
  const considered = await considerRun(runner, request, planned);
  const record = newRecord(runner, request, planned);
  record.decision = describeDecision(considered.decision, considered.asked.trust);
  const from = { kind: 'submitted', key: ticket.key, mostWaiting: ticket.quotas.queued } as const;
  const one: Case = { runner, request, considered, record, hooks: NO_HOOKS, from };
  const { verdict, reasons } = considered.decision;
  try {
    if (verdict === 'deny') return { kind: 'kept', record: await refuseRun(one, null, reasons.join(' ')) };
    if (verdict === 'ask') return { kind: 'kept', record: await suspendRun(one) };
    return await admit(one, ticket);
  } catch (error) {
    if (error instanceof KeyTaken) return { kind: 'taken' };
    if (error instanceof QueueFull) return { kind: 'full' };
    throw error;
  }
}

async function admit(one: Case, ticket: Ticket): Promise<Submitted> {
  const { runner, record, considered } = one;
  const decided = decidedEvent(record, considered);
  record.waiting = waitingOf(one);
  const queued: RunRecord = { ...record, state: 'queued', owner: '' };
  const accepted = acceptedEvent(record, considered.planned, runner.sandbox);
  const admitted = await runner.store.queue.admit({
    ...ticket,
    begin: { record, events: [decided, accepted] },
    queue: { record: queued, events: [decided, queuedEvent(queued)] },
  });
  switch (admitted) {
    case 'begun':
      return { kind: 'begun', record, carryOn: hooks => carryOn({ ...one, hooks }, null, hooks) };
    case 'queued':
      return { kind: 'kept', record: queued };
    case 'full':
    case 'taken':
      return { kind: admitted };
  }
}

/** Starts a run that was taken from the queue. Everything is judged again first; a yes that a person gave still counts. */
export async function startClaimed(runner: Runner, record: RunRecord, hooks: RunHooks): Promise<RunRecord> {
  return reconsider(runner, record, { kind: 'queue' }, async one => {
    const going = { ...one, hooks };
    const { decision, asked } = one.considered;
    record.decision = describeDecision(decision, asked.trust);
    if (decision.verdict === 'deny') return refuseRun(going, null, decision.reasons.join(' '));
    const stale = staleness(record, one);
    if (stale !== null) return refuseRun(going, null, stale);
    const reply = replyOf(record);
    if (decision.verdict === 'ask' && reply === null) return suspendRun(going);
    return acceptRun(going, null, reply);
  });
}

/** What a person said before it was put in line; a no never comes here. */
function replyOf({ approval }: RunRecord): Reply | null {
  return approval === null
    ? null
    : {
        answer: approval.answer as Reply['answer'],
        channel: approval.channel as Reply['channel'],
        by: approval.by,
      };
}

const NO_HOOKS: RunHooks = {
  onState: () => undefined,
  onChunk: () => undefined,
  onBuild: () => undefined,
  signal: null,
};
