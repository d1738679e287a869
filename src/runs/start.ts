import { describeCarriers } from '../secrets/index.ts';
import type { RunRecord } from '../store/index.ts';
import { describeChange } from './change.ts';
import { considerRun, mayAnswer } from './consider.ts';
import type { RunHooks } from './execute.ts';
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
      return hooks.ask === null ? suspendRun(one) : takeReply(one, await hooks.ask(await questionOf(one)));
  }
}

export async function questionOf({ runner, request, considered }: Omit<Case, 'hooks'>): Promise<Question> {
  const { secrets } = considered.asked.grant;
  const carriers = secrets.length === 0 ? [] : describeCarriers(secrets, runner.providers.list());
  const unset = secrets.length === 0 ? [] : await runner.lending.unset(runner.caller, secrets);
  const change = await describeChange(runner, request, considered.known.previous);
  return makeQuestion(request, considered, change, { carriers, unset });
}

function takeReply(one: Case, reply: Reply | null): Promise<RunRecord> {
  if (reply === null) return suspendRun(one);
  const { decision } = one.considered;
  if (!mayAnswer(decision, reply.answer, reply.channel)) {
    one.record.warnings.push(`the policy takes no "${reply.answer}" that comes by ${reply.channel}; the run waits`);
    return suspendRun(one);
  }
  if (reply.answer === 'deny' || reply.answer === 'deny-always') return refuseRun(one, reply, 'a person denied it');
  return acceptRun(one, reply);
}
