import { Readable } from 'node:stream';
import { Type } from 'typebox';
import type { RunEvent } from '../../service/index.ts';
import { exactly, toLogLine, toState } from '../../wire/index.ts';
import { component, content, failures, NOTHING } from '../components.ts';
import type { ServerEvent } from '../events.ts';
import { logParts } from '../execution.ts';
import type { ApiServer } from '../server.ts';
import type { RouteContext } from './context.ts';
import { ID_PARAMS } from './executions.ts';

const ENDED = '-end';
const OFFSET = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'where an earlier part ended',
});

/** What an execution prints: as text, as JSON, and as it comes. */
export function executionLogRoutes(server: ApiServer, context: RouteContext): void {
  server.get(
    '/v1/executions/:id/logs',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getExecutionLogs',
        tags: ['executions'],
        summary: 'What an execution has printed so far',
        description: 'Plain text, both streams in order; with `Accept: application/json` the lines of one part.',
        params: ID_PARAMS,
        querystring: exactly({ offset: Type.Optional(OFFSET) }),
        headers: Type.Object({ accept: Type.Optional(Type.String({ maxLength: 1024 })) }),
        response: {
          200: {
            description: 'All of it as text, or one part as JSON.',
            content: { 'text/plain': { schema: { type: 'string' } }, 'application/json': { schema: component('Log') } },
          } as unknown as ReturnType<typeof content>,
          ...failures(404),
        },
      },
    },
    async (request, reply) => {
      const { runs } = request.service;
      const { id } = request.params;
      const offset = request.query.offset ?? 0;
      // The first part tells whether it is there at all, while there is still a status to say so.
      const first = await runs.logs(id, offset);
      if (wantsJson(request.headers.accept)) {
        return reply.type('application/json; charset=utf-8').send({ ...first, lines: first.lines.map(toLogLine) });
      }
      async function* text(): AsyncGenerator<string> {
        for (const line of first.lines) yield line.text;
        if (first.offset === offset) return;
        for await (const { lines } of logParts(runs, id, first.offset)) for (const line of lines) yield line.text;
      }
      return reply.type('text/plain; charset=utf-8').send(Readable.from(text(), { objectMode: false }));
    },
  );

  server.get(
    '/v1/executions/:id/events',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'followExecution',
        tags: ['executions'],
        summary: 'Server-sent events: every change and every line, until it has ended',
        description:
          '`state` events hold the execution, `log` events a line. Come back with Last-Event-ID, and nothing is missed or seen twice; 204 means that there is nothing more.',
        params: ID_PARAMS,
        querystring: exactly({ offset: Type.Optional(OFFSET) }),
        headers: Type.Object({ 'last-event-id': Type.Optional(Type.String({ maxLength: 64 })) }),
        response: { 200: content('text/event-stream', 'The events.'), 204: NOTHING, ...failures(404) },
      },
    },
    async (request, reply) => {
      const { runs } = request.service;
      const { id } = await runs.get(request.params.id);
      const last = request.headers['last-event-id'] ?? '';
      if (last.endsWith(ENDED)) return reply.code(204).send();
      const offset = /^\d{1,15}$/.test(last) ? Number(last) : (request.query.offset ?? 0);
      await context.streams.send(request, reply, signal => toEvents(runs.follow(id, { offset, signal })));
      return reply;
    },
  );
}

/** A browser comes back when a stream ends; the id of the last event tells it apart from one that broke off. */
async function* toEvents(source: AsyncIterable<RunEvent>): AsyncGenerator<ServerEvent> {
  for await (const event of source) {
    if (event.kind === 'log') yield { event: 'log', id: String(event.offset), data: toLogLine(event.line) };
    else {
      const ended = event.run.endedAt !== null;
      yield { event: 'state', id: `${event.offset}${ended ? ENDED : ''}`, data: toState(event.run) };
    }
  }
}

/** Text is what the published clients read, so JSON must be asked for by name. */
function wantsJson(accept: string | undefined): boolean {
  return /(^|[,\s])application\/json\s*(;|,|$)/i.test(accept ?? '');
}
