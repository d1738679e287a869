import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from './metrics.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The run that a request is about, for the log. A route with `:id` below /v1/executions need not say it. */
    runId: string | null;
  }
}

/** One line and one count for every request, when its connection is through with it: answered, cut off or left. */
export function observe(server: FastifyInstance, metrics: Metrics | null): void {
  server.decorateRequest('runId', null);
  server.addHook('onRequest', async (request, reply) => {
    const began = performance.now();
    metrics?.opened();
    reply.raw.once('close', () => {
      const ms = performance.now() - began;
      metrics?.closed();
      // Whoever went away before the end was not answered, whatever the status says.
      const status = reply.raw.writableEnded ? String(reply.raw.statusCode) : 'left';
      metrics?.finished({ method: methodOf(request), route: routeOf(request), status, seconds: ms / 1000 });
      tell(request, reply, status, ms);
    });
  });
}

function tell(request: FastifyRequest, reply: FastifyReply, status: string, ms: number): void {
  const { identity } = request;
  const line = {
    method: methodOf(request),
    route: routeOf(request),
    // Without its query: that may hold a signature.
    path: (request.url.split('?', 1)[0] ?? '').slice(0, MAX_PATH),
    status: status === 'left' ? status : reply.raw.statusCode,
    ms: Math.round(ms * 10) / 10,
    tenant: identity?.tenant ?? null,
    key: identity?.key ?? identity?.id ?? null,
    run: request.runId ?? runIn(request),
  };
  if (reply.raw.statusCode >= 500) request.log.error(line, 'request');
  else request.log.info(line, 'request');
}

const MAX_PATH = 300;
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Bounded, whatever a client makes up. */
function methodOf({ method }: FastifyRequest): string {
  return METHODS.includes(method) ? method : 'OTHER';
}

export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}

function runIn(request: FastifyRequest): string | null {
  if (!routeOf(request).startsWith('/v1/executions/:id')) return null;
  const { id } = request.params as { id?: unknown };
  return typeof id === 'string' ? id.slice(0, 64) : null;
}
