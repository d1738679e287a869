import { shape } from '../base/index.ts';
import type { ApprovalService, AuditService, CatalogService, PolicyService } from '../service/index.ts';
import { fromEntry, fromExecution, fromGiven, fromTarget } from '../wire/index.ts';
import { ACTIVATION, AUDIT_ENTRY, EXECUTION, EXECUTION_SUMMARY, GIVEN, VERIFIED } from './answers.ts';
import { readText } from './bytes.ts';
import { MAX_PAGE } from './runs.ts';
import { timeText } from './sent.ts';
import type { Transport } from './transport.ts';

const paged = ({ limit, after }: { limit: number; after: string | null }) => ({
  limit: Math.min(limit, MAX_PAGE),
  after,
});

export function createApprovals(transport: Transport): ApprovalService {
  return {
    async waiting(paging) {
      const ask = { method: 'GET', path: ['v1', 'approvals'], query: paged(paging), safety: 'always' } as const;
      const page = await transport.json(ask, shape.pageOf(EXECUTION_SUMMARY));
      return { items: page.items.map(fromExecution), next: page.next };
    },
    question: id => transport.json({ method: 'GET', path: ['v1', 'approvals', id], safety: 'always' }, shape.object),
    async answer(id, answer) {
      // Sent again it would find the question settled, by itself.
      const ask = { method: 'POST', path: ['v1', 'approvals', id], json: { answer }, safety: 'refused' } as const;
      return fromExecution(await transport.json(ask, EXECUTION));
    },
    async answers(paging) {
      const ask = { method: 'GET', path: ['v1', 'answers'], query: paged(paging), safety: 'always' } as const;
      const page = await transport.json(ask, shape.pageOf(GIVEN));
      return { items: page.items.map(fromGiven), next: page.next };
    },
    async revoke(id) {
      const ask = { method: 'DELETE', path: ['v1', 'answers', id], safety: 'always' } as const;
      return fromGiven(await transport.json(ask, GIVEN));
    },
  };
}

export function createCatalog(transport: Transport): CatalogService {
  return {
    async render({ format, budget, query: words }) {
      const query = { format, budget, q: words };
      const ask = {
        method: 'GET',
        path: ['v1', 'catalog'],
        query,
        headers: { accept: '*/*' },
        safety: 'always',
      } as const;
      return transport.read(ask, answer => readText(answer));
    },
    activate: (name, version) =>
      transport.json(
        { method: 'POST', path: ['v1', 'skills', name, version ?? 'latest', 'activate'], safety: 'always' },
        ACTIVATION,
      ),
  };
}

export function createPolicy(transport: Transport): PolicyService {
  return {
    explain: ({ skill, version, target }) =>
      transport.json(
        {
          method: 'POST',
          path: ['v1', 'policy', 'explain'],
          json: { skill, version, ...(target === null ? {} : fromTarget(target)) },
          safety: 'always',
        },
        shape.object,
      ),
  };
}

export function createAudit(transport: Transport): AuditService {
  return {
    async list({ types, subject, since, ...paging }) {
      const query = { type: types, subject, since: timeText(since), ...paged(paging) };
      const ask = { method: 'GET', path: ['v1', 'audit'], query, safety: 'always' } as const;
      const page = await transport.json(ask, shape.pageOf(AUDIT_ENTRY));
      return { items: page.items.map(fromEntry), next: page.next };
    },
    verify: () => transport.json({ method: 'GET', path: ['v1', 'audit', 'verify'], safety: 'always' }, VERIFIED),
  };
}
