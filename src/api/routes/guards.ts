import {
  AnswerRequest,
  AnyObject,
  AuditQuery,
  CatalogQuery,
  ExplainRequest,
  fromTime,
  NO_QUERY,
  PagingQuery,
  toEntry,
  toGiven,
  toState,
  toSummary,
  toTarget,
  toWanted,
  VerifyAnswer,
} from '../../wire/index.ts';
import { component, type content, failures, pageOfComponent } from '../components.ts';
import type { ApiServer } from '../server.ts';
import { ID_PARAMS } from './executions.ts';

const PAGE = 50;

/** What waits for a person, and what people said. */
export function approvalRoutes(server: ApiServer): void {
  server.get(
    '/v1/approvals',
    {
      config: { scope: ['read', 'approve'] },
      schema: {
        operationId: 'listApprovals',
        tags: ['approvals'],
        summary: 'Executions that wait for a person',
        querystring: PagingQuery,
        response: { 200: pageOfComponent('ExecutionSummary'), ...failures() },
      },
    },
    async ({ service, query }) => {
      const page = await service.approvals.waiting({ limit: query.limit ?? PAGE, after: query.after ?? null });
      return { items: page.items.map(toSummary), next: page.next };
    },
  );

  server.get(
    '/v1/approvals/:id',
    {
      config: { scope: ['read', 'approve'] },
      schema: {
        operationId: 'getQuestion',
        tags: ['approvals'],
        summary: 'What a waiting execution asks: the command, the grant, why, what changed',
        params: ID_PARAMS,
        querystring: NO_QUERY,
        response: { 200: AnyObject, ...failures(404, 409) },
      },
    },
    ({ service, params }) => service.approvals.question(params.id),
  );

  server.post(
    '/v1/approvals/:id',
    {
      config: { scope: 'approve' },
      schema: {
        operationId: 'answerQuestion',
        tags: ['approvals'],
        summary: 'Answer for a waiting execution',
        description: 'A yes puts it in the queue. Whoever asked for an execution may not answer for it.',
        params: ID_PARAMS,
        body: AnswerRequest,
        querystring: NO_QUERY,
        response: { 200: component('ExecutionState'), ...failures(404, 409, 415) },
      },
    },
    async ({ service, params, body }) => toState(await service.approvals.answer(params.id, body.answer)),
  );

  server.get(
    '/v1/answers',
    {
      config: { scope: ['read', 'approve'] },
      schema: {
        operationId: 'listAnswers',
        tags: ['approvals'],
        summary: 'What people answered, the newest first',
        querystring: PagingQuery,
        response: { 200: pageOfComponent('GivenAnswer'), ...failures() },
      },
    },
    async ({ service, query }) => {
      const page = await service.approvals.answers({ limit: query.limit ?? PAGE, after: query.after ?? null });
      return { items: page.items.map(toGiven), next: page.next };
    },
  );

  server.delete(
    '/v1/answers/:id',
    {
      config: { scope: 'approve' },
      schema: {
        operationId: 'revokeAnswer',
        tags: ['approvals'],
        summary: 'Take an answer back: what it was about is asked again',
        params: ID_PARAMS,
        querystring: NO_QUERY,
        response: { 200: component('GivenAnswer'), ...failures(404) },
      },
    },
    async ({ service, params }) => toGiven(await service.approvals.revoke(params.id)),
  );
}

const JSON_FORMATS: readonly string[] = ['json', 'openai', 'anthropic'];

/** What a model is told, which rule decides, and what happened. */
export function guardRoutes(server: ApiServer): void {
  server.get(
    '/v1/catalog',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getCatalog',
        tags: ['catalog'],
        summary: 'The skills as a model is told of them, ready for a prompt',
        querystring: CatalogQuery,
        response: {
          200: {
            description: 'Text for xml, markdown and gibberish; JSON for json, openai and anthropic.',
            content: { 'text/plain': { schema: { type: 'string' } }, 'application/json': { schema: {} } },
          } as unknown as ReturnType<typeof content>,
          ...failures(),
        },
      },
    },
    async ({ service, query }, reply) => {
      const { format = 'xml', budget = null, q = null } = query;
      const text = await service.catalog.render({ format, budget, query: q });
      const type = JSON_FORMATS.includes(format) ? 'application/json' : 'text/plain';
      // It is written already; another pass would put quotes around it.
      return reply.type(`${type}; charset=utf-8`).serializer(String).send(text);
    },
  );

  server.post(
    '/v1/policy/explain',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'explainPolicy',
        tags: ['policy'],
        summary: 'Which rule decides about a skill, and why',
        body: ExplainRequest,
        querystring: NO_QUERY,
        response: { 200: AnyObject, ...failures(404, 415) },
      },
    },
    ({ service, body }) => {
      const named = body.tool !== undefined || body.script !== undefined || body.arguments !== undefined;
      return service.policy.explain({
        skill: body.skill,
        version: toWanted(body.version),
        target: named ? toTarget(body) : null,
      });
    },
  );

  server.get(
    '/v1/audit',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listAudit',
        tags: ['audit'],
        summary: 'What happened, the newest first',
        querystring: AuditQuery,
        response: { 200: pageOfComponent('AuditEntry'), ...failures() },
      },
    },
    async ({ service, query }) => {
      const { type, subject, since, limit, after } = query;
      const page = await service.audit.list({
        types: type ?? null,
        subject: subject ?? null,
        since: since === undefined ? null : fromTime(since),
        limit: limit ?? PAGE,
        after: after ?? null,
      });
      return { items: page.items.map(toEntry), next: page.next };
    },
  );

  server.get(
    '/v1/audit/verify',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'verifyAudit',
        tags: ['audit'],
        summary: 'Check the chain of the journal',
        querystring: NO_QUERY,
        response: { 200: VerifyAnswer, ...failures() },
      },
    },
    ({ service }) => service.audit.verify(),
  );
}
