import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Run } from '../../service/index.ts';
import {
  AnyObject,
  CancelAnswer,
  ExecutionFilter,
  ExecutionRequest,
  exactly,
  fromTime,
  NO_QUERY,
  toStartRequest,
  toSummary,
} from '../../wire/index.ts';
import { component, failures, pageOfComponent } from '../components.ts';
import { toExecution } from '../execution.ts';
import { waitPreference } from '../prefer.ts';
import type { ApiServer } from '../server.ts';
import type { RouteContext } from './context.ts';

export const ID_PARAMS = exactly({ id: Type.String({ minLength: 1, maxLength: 64 }) });
const PAGE = 50;
const ENDS: readonly Run['state'][] = ['success', 'failed', 'timeout'];

const START_HEADERS = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description: 'The same key with the same request answers the same execution; with another request it is refused.',
    }),
  ),
  prefer: Type.Optional(
    Type.String({ maxLength: 256, description: 'respond-async: do not wait. wait=SECONDS: wait no longer than this.' }),
  ),
});

/** SB-14: start, look, list, cancel. */
export function executionRoutes(server: ApiServer, context: RouteContext): void {
  server.post(
    '/v1/executions',
    {
      bodyLimit: context.limits.maxRequestBytes,
      config: { scope: 'run' },
      schema: {
        operationId: 'createExecution',
        tags: ['executions'],
        summary: 'Run a skill',
        description:
          'Answers when the run has ended: 200, also when it failed. 202 with `pending` when it waits for a person, and when the caller does not want to wait.',
        headers: START_HEADERS,
        body: ExecutionRequest,
        querystring: NO_QUERY,
        response: {
          200: { ...component('Execution'), description: 'It has ended.' },
          202: { ...component('Execution'), description: 'It goes on; Location says where to look.' },
          ...failures(404, 413, 415, 422, 507),
        },
      },
    },
    async (request, reply) => {
      const { runs } = request.service;
      const preference = waitPreference(request.headers.prefer, context.limits.syncWaitMs);
      const started = await runs.start(toStartRequest(request.body), {
        idempotencyKey: request.headers['idempotency-key'] ?? null,
      });
      request.runId = started.id;
      reply.header('location', `/v1/executions/${started.id}`);
      const run = await waited(request, reply, started, preference.ms);
      if (run === null) return reply.hijack();
      if (preference.applied !== null) reply.header('preference-applied', preference.applied);
      return reply.code(ENDS.includes(run.state) ? 200 : 202).send(await toExecution(request, run, context));
    },
  );

  server.post(
    '/v1/executions/plan',
    {
      bodyLimit: context.limits.maxRequestBytes,
      config: { scope: 'run' },
      schema: {
        operationId: 'planExecution',
        tags: ['executions'],
        summary: 'Say what would run and what policy says to it',
        body: ExecutionRequest,
        querystring: NO_QUERY,
        response: { 200: { ...AnyObject, description: 'Nothing was started.' }, ...failures(404, 413, 415, 422) },
      },
    },
    request => request.service.runs.plan(toStartRequest(request.body)),
  );

  server.get(
    '/v1/executions',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listExecutions',
        tags: ['executions'],
        summary: 'List executions, the newest first',
        querystring: ExecutionFilter,
        response: { 200: pageOfComponent('ExecutionSummary'), ...failures() },
      },
    },
    async request => {
      const { state, skill, since, limit, after } = request.query;
      const page = await request.service.runs.list({
        states: state ?? null,
        skill: skill ?? null,
        since: since === undefined ? null : fromTime(since),
        limit: limit ?? PAGE,
        after: after ?? null,
      });
      return { items: page.items.map(toSummary), next: page.next };
    },
  );

  server.get(
    '/v1/executions/:id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getExecution',
        tags: ['executions'],
        summary: 'One execution with all that it brought',
        params: ID_PARAMS,
        querystring: exactly({
          wait_ms: Type.Optional(
            Type.Integer({ minimum: 0, maximum: 60_000, description: 'answer when it has ended, or after this time' }),
          ),
          logs: Type.Optional(Type.Boolean({ description: 'false: without the text of its log' })),
        }),
        response: { 200: component('Execution'), ...failures(404) },
      },
    },
    async (request, reply) => {
      const { runs } = request.service;
      const { wait_ms: waitMs = 0, logs = true } = request.query;
      const run = await waited(request, reply, await runs.get(request.params.id), waitMs);
      if (run === null) return reply.hijack();
      return toExecution(request, run, context, logs);
    },
  );

  server.post(
    '/v1/executions/:id/cancel',
    {
      config: { scope: 'run' },
      schema: {
        operationId: 'cancelExecution',
        tags: ['executions'],
        summary: 'Ask an execution to end',
        params: ID_PARAMS,
        querystring: NO_QUERY,
        response: { 200: CancelAnswer, ...failures(404) },
      },
    },
    async request => ({ canceled: await request.service.runs.cancel(request.params.id) }),
  );
}

/** null when the caller has gone away meanwhile: the run goes on, and nobody is left to be told. */
async function waited(request: FastifyRequest, reply: FastifyReply, run: Run, ms: number): Promise<Run | null> {
  if (ms === 0 || ENDS.includes(run.state) || run.state === 'waiting') return run;
  const gone = new AbortController();
  const leave = () => gone.abort();
  reply.raw.once('close', leave);
  try {
    const ended = await request.service.runs.wait(run.id, { timeoutMs: ms, signal: gone.signal });
    if (gone.signal.aborted) return null;
    await request.confirm();
    return ended;
  } catch (error) {
    if (gone.signal.aborted) return null;
    throw error;
  } finally {
    reply.raw.off('close', leave);
  }
}
