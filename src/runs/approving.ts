import type { Answers, GivenAnswer } from '../approvals/index.ts';
import type { Actor, Caller } from '../audit/index.ts';
import type { RunRecord } from '../store/index.ts';
import { resetEvent, revokedEvent } from './approval-events.ts';
import type { RunHooks } from './execute.ts';
import type { Runner } from './plan.ts';
import type { Question, Reply } from './question.ts';
import { requireOne } from './sweep.ts';
import { readQuestion, settleRun } from './waiting.ts';

/** Questions that are open, and answers that were given. An id may be the beginning of one. */
export interface Approving {
  /** What a waiting run asks, as it stands now. */
  question(id: string): Promise<Question>;
  /** Answers it; a yes starts the run here and now. */
  settle(id: string, reply: Reply, hooks: RunHooks): Promise<RunRecord>;
  /** What people answered, newest first. */
  answers(): Promise<GivenAnswer[]>;
  /** Takes an answer back: what it was about is asked again. */
  revoke(id: string, by: Actor): Promise<GivenAnswer>;
  /** Forgets every answer: the way out of a store that cannot be relied on. */
  reset(by: Actor): Promise<void>;
}

/** For the user of this machine, who answers for runs of their own. */
export function createApproving(
  kept: Answers,
  ready: () => Promise<Runner>,
  find: (id: string) => Promise<RunRecord>,
): Approving {
  return {
    question: async id => readQuestion(await ready(), await find(id)),
    settle: async (id, reply, hooks) => settleRun(await ready(), await find(id), reply, hooks),
    answers: () => kept.list(),
    async revoke(id, by) {
      const known = (await kept.list()).map(each => each.id).filter(each => each.startsWith(id));
      const one = requireOne(known, id, 'answer', 'skillbox approve list');
      return kept.revoke(one, given => [revokedEvent(local(by), given)]);
    },
    reset: by => kept.reset([resetEvent(local(by))]),
  };
}

function local(actor: Actor): Caller {
  return { tenant: null, actor };
}
