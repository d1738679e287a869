import type { JsonObject } from '../base/index.ts';
import type {
  Activation,
  ApprovalService,
  AuditService,
  CatalogService,
  Page,
  PolicyService,
} from '../service/index.ts';
import {
  type AuditEntryAnswer,
  type ExecutionState,
  type ExecutionSummary,
  fromEntry,
  fromExecution,
  fromGiven,
  fromTarget,
  type GivenAnswerAnswer,
  toTimeOrNull,
} from '../wire/index.ts';
import { MAX_PAGE } from './runs.ts';
import { readText, type Transport } from './transport.ts';

const paged = ({ limit, after }: { limit: number; after: string | null }) => ({
  limit: Math.min(limit, MAX_PAGE),
  after,
});

export function createApprovals(transport: Transport): ApprovalService {
  return {
    async waiting(paging) {
      const ask = { method: 'GET', path: ['v1', 'approvals'], query: paged(paging), safety: 'always' } as const;
      const page = await transport.json<Page<ExecutionSummary>>(ask);
      return { items: page.items.map(fromExecution), next: page.next };
    },
    question: id => transport.json<JsonObject>({ method: 'GET', path: ['v1', 'approvals', id], safety: 'always' }),
    async answer(id, answer) {
      // Sent again it would find the question settled, by itself.
      const ask = { method: 'POST', path: ['v1', 'approvals', id], json: { answer }, safety: 'refused' } as const;
      return fromExecution(await transport.json<ExecutionState>(ask));
    },
    async answers(paging) {
      const ask = { method: 'GET', path: ['v1', 'answers'], query: paged(paging), safety: 'always' } as const;
      const page = await transport.json<Page<GivenAnswerAnswer>>(ask);
      return { items: page.items.map(fromGiven), next: page.next };
    },
    async revoke(id) {
      const ask = { method: 'DELETE', path: ['v1', 'answers', id], safety: 'always' } as const;
      return fromGiven(await transport.json<GivenAnswerAnswer>(ask));
    },
  };
}

export function createCatalog(transport: Transport): CatalogService {
  return {
    async render({ format, budget, query }) {
      const answer = await transport.send({
        method: 'GET',
        path: ['v1', 'catalog'],
        query: { format, budget, q: query },
        headers: { accept: '*/*' },
        safety: 'always',
      });
      return readText(answer);
    },
    activate: (name, version) =>
      transport.json<Activation>({
        method: 'POST',
        path: ['v1', 'skills', name, version ?? 'latest', 'activate'],
        safety: 'always',
      }),
  };
}

export function createPolicy(transport: Transport): PolicyService {
  return {
    explain: ({ skill, version, target }) =>
      transport.json<JsonObject>({
        method: 'POST',
        path: ['v1', 'policy', 'explain'],
        json: { skill, version, ...(target === null ? {} : fromTarget(target)) },
        safety: 'always',
      }),
  };
}

export function createAudit(transport: Transport): AuditService {
  return {
    async list({ types, subject, since, ...paging }) {
      const query = { type: types, subject, since: toTimeOrNull(since), ...paged(paging) };
      const ask = { method: 'GET', path: ['v1', 'audit'], query, safety: 'always' } as const;
      const page = await transport.json<Page<AuditEntryAnswer>>(ask);
      return { items: page.items.map(fromEntry), next: page.next };
    },
    verify: () => transport.json({ method: 'GET', path: ['v1', 'audit', 'verify'], safety: 'always' }),
  };
}
