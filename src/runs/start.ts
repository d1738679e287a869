import type { RunRecord } from '../store/index.ts';
import { describeChange } from './change.ts';
import { type Considered, considerRun, mayAnswer } from './consider.ts';
import type { RunHooks } from './execute.ts';
import { type Notes, notesOf } from './notes.ts';
import { planRun, type Runner, type RunRequest } from './plan.ts';
import { makeQuestion, type Question, type Reply } from './question.ts';
import { describeDecision, newRecord } from './record.ts';
import { acceptRun, type Case, refuseRun, suspendRun } from './settle.ts';

export type StartHooks = RunHooks & {
  /** Asks a person; null: there is nobody to ask here, and the run waits. So it does when the promise gives null. */
  ask: ((question: Question) => Promise<Reply | null>) | null;
};

/**
 * Plan, judge, and then go on, ask, or refuse. The snapshot comes first: what is judged, shown and approved is that very
 * copy, and the run executes from it, whatever becomes of the folder meanwhile.
 */
export async function startRun(runner: Runner, request: RunRequest, hooks: StartHooks): Promise<RunRecord> {
  const planned = await planRun(runner, request, null);
  const considered = await considerRun(runner, request, planned);
  const record = newRecord(runner, request, planned);
  record.decision = describeDecision(considered.decision, considered.asked.trust);
  const one: Case = { runner, request, considered, record, hooks, from: { kind: 'new' } };
  switch (considered.decision.verdict) {
    case 'allow':
      return acceptRun(one, null);
    case 'deny':
      return refuseRun(one, null, considered.decision.reasons.join(' '));
    case 'ask':
      return hooks.ask === null ? letWait(one) : takeReply(one, await hooks.ask(await questionOf(one)));
  }
}

export async function questionOf({ runner, request, considered }: Omit<Case, 'hooks'>): Promise<Question> {
  const change = await describeChange(runner, request, considered.known.previous);
  return makeQuestion(request, considered, change, await notesOf(runner, considered));
}

/** What a run would start, what policy says to it, and what a person would be told besides; nothing is started. */
export async function foreseeRun(runner: Runner, request: RunRequest): Promise<Foreseen> {
  const considered = await considerRun(runner, request, await planRun(runner, request, null));
  return { considered, notes: await notesOf(runner, considered) };
}

export type Foreseen = { considered: Considered; notes: Notes };

/** Whoever started it is told what the question says. It is not kept: a secret may be set by the time that somebody looks again. */
async function letWait(one: Case): Promise<RunRecord> {
  const record = await suspendRun(one);
  const { carriers, unset } = await notesOf(one.runner, one.considered);
  record.warnings.push(...carriers, ...unset);
  return record;
}

function takeReply(one: Case, reply: Reply | null): Promise<RunRecord> {
  if (reply === null) return letWait(one);
  const { decision } = one.considered;
  if (!mayAnswer(decision, reply.answer, reply.channel)) {
    one.record.warnings.push(`the policy takes no "${reply.answer}" that comes by ${reply.channel}; the run waits`);
    return letWait(one);
  }
  if (reply.answer === 'deny' || reply.answer === 'deny-always') return refuseRun(one, reply, 'a person denied it');
  return acceptRun(one, reply);
}
