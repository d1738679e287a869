import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from './metrics.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The run that a request is about, for the log. A route with `:id` below /v1/executions need not say it. */
    runId: string | null;
  }
}

/** When a connection is through with a request: answered, cut off or left. */
export function observe(request: FastifyRequest, reply: FastifyReply, route: string, metrics: Metrics | null): void {
  const began = performance.now();
  metrics?.opened();
  reply.raw.on('close', () => {
    const ms = performance.now() - began;
    // Whoever went away before the end was not answered, whatever the status says.
    const status = reply.raw.writableEnded ? reply.raw.statusCode : LEFT;
    metrics?.closed({ method: methodOf(request), route, status, seconds: ms / 1000 });
    tell(request, route, status, ms);
  });
}

/** As others count a client that closed its connection. */
const LEFT = 499;

/** What changed nothing and went well is of no interest to most: there may be thousands of such lines a second. */
function levelOf(method: string, status: number): 'debug' | 'info' | 'error' {
  if (status >= 500) return 'error';
  return status < 400 && (method === 'GET' || method === 'HEAD') ? 'debug' : 'info';
}

function tell(request: FastifyRequest, route: string, status: number, ms: number): void {
  const level = levelOf(request.method, status);
  // Asked first: a line that nobody wants is not even made.
  if (level === 'debug' && !isWanted(request, level)) return;
  const { identity } = request;
  const line = {
    method: methodOf(request),
    route,
    // Without its query: that may hold a signature.
    path: withoutKeys(request.url.split('?', 1)[0] ?? '').slice(0, MAX_PATH),
    status,
    ms: Math.round(ms * 10) / 10,
    tenant: identity?.tenant ?? null,
    key: identity?.key ?? identity?.id ?? null,
    run: request.runId ?? runIn(request, route),
  };
  request.log[level](line, 'request');
}

const KEY = /(sbx(?:_|%5f)[0-9a-z]{26})(?:_|%5f)[\w%-]+/gi;

/** Nothing but `custom/KEY` looks like a name and like no value. */
const SECRET = /^(\/v1\/secrets\/)(?!custom%2f[\w.-]+$).+/i;

/** Threat: whoever revokes a key in a hurry gives the whole of it where its id is meant, and a value where its name is. */
function withoutKeys(text: string): string {
  return text.replace(KEY, '$1_…').replace(SECRET, '$1…');
}

function isWanted({ server }: FastifyRequest, level: string): boolean {
  const { log } = server as { log: { isLevelEnabled?: (name: string) => boolean } };
  return log.isLevelEnabled?.(level) ?? false;
}

const MAX_PATH = 300;
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Bounded, whatever a client makes up. */
function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : 'OTHER';
}

function runIn({ params }: FastifyRequest, route: string): string | null {
  if (!route.startsWith('/v1/executions/:id')) return null;
  const { id } = params as { id?: unknown };
  return typeof id === 'string' ? withoutKeys(id).slice(0, 64) : null;
}
