import type { GivenAnswer } from '../approvals/index.ts';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import { toRun } from '../executions/index.ts';
import { answerRun, describeQuestion, type RunHooks, readQuestion, revokedEvent, runnerFor } from '../runs/index.ts';
import type { ApprovalService, GivenAnswer as Given } from '../service/index.ts';
import { badCursor, limitOf, readCursor, toCursor, toPage } from './pages.ts';
import type { Member, ServiceParts } from './parts.ts';
import { requireRun } from './runs.ts';

/** Questions of one tenant's runs, and what its people answered. */
export function createApprovalService(parts: ServiceParts, caller: Member): ApprovalService {
  const { machine, executions, callers } = parts;
  const kept = machine.answersOf(caller.tenant);
  const runner = runnerFor(machine, caller);
  return {
    async waiting(paging) {
      const limit = limitOf(paging);
      const query = { states: ['waiting' as const], skill: null, since: null, limit: limit + 1 };
      const found = await machine.store.runs.list(caller.tenant, { ...query, after: readCursor(paging.after) });
      const { items, next } = toPage(found, limit, toCursor);
      return { items: items.map(toRun), next };
    },
    async question(runId) {
      const record = await requireRun(parts, caller, runId);
      await parts.published.fetch(record);
      return describeQuestion(await readQuestion(runner, record), 'caller') as unknown as JsonObject; // plain data all through
    },
    async answer(runId, answer) {
      const record = await requireRun(parts, caller, runId);
      if (record.state !== 'waiting')
        throw new SkillboxError(
          'NOT_WAITING',
          `the run ${record.id} does not wait for an answer: it is ${record.state}`,
        );
      // Two pairs of eyes: whoever wants something done does not also say that it may be.
      const [asker, answerer] = await Promise.all([record.by.id, caller.actor.id].map(id => callers.holderOf(id)));
      if (asker === answerer)
        throw new SkillboxError('ANSWER_REFUSED', 'you asked for this run, so somebody else must answer for it', {
          hint: 'Have it answered by somebody else whose key has the scope approve, or end it: `skillbox exec cancel ID`.',
        });
      await parts.published.fetch(record);
      const hooks: RunHooks = {
        onState: changed => executions.feeds.tell(changed),
        onChunk: () => undefined,
        onBuild: () => undefined,
        signal: null,
      };
      const reply = { answer, channel: 'key' as const, by: caller.actor.id };
      const answered = toRun(await answerRun(runner, record, reply, hooks));
      void executions.pump();
      return answered;
    },
    async answers(paging) {
      const limit = limitOf(paging);
      const all = await kept.list();
      const from = paging.after === null ? 0 : all.findIndex(({ id }) => id === paging.after) + 1;
      if (paging.after !== null && from === 0) throw badCursor();
      const { items, next } = toPage(all.slice(from, from + limit + 1), limit, ({ id }) => id);
      return { items: items.map(toGiven), next };
    },
    revoke: async answerId => toGiven(await kept.revoke(answerId, given => [revokedEvent(caller, given)])),
  };
}

function toGiven({ id, answer, by, channel, createdAt, expiresAt, revokedAt, skill, bound }: GivenAnswer): Given {
  return {
    id,
    answer,
    by,
    channel,
    createdAt,
    expiresAt,
    revokedAt,
    skill: { ...skill, digest: bound.digest },
    target: bound.target.name,
  };
}
