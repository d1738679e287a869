import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  LogController,
  type RawServerDefault,
} from 'fastify';
import { newId } from '../base/index.ts';
import { toRefusal, toRpcError } from './answers.ts';
import { limitConnections } from './connections.ts';
import { type GuardOptions, requireScopes } from './guard.ts';
import { healthRoutes, type ReadyCheck } from './health.ts';
import type { HostRules } from './hosts.ts';
import { takeJson } from './json-body.ts';
import { DEFAULT_LIMITS, type ServerLimits } from './limits.ts';
import { answerMalformed, SAFE_HEADERS } from './malformed.ts';
import { createMetrics, type Gauge, type Metrics } from './metrics.ts';
import { DEFAULT_RATES, type RateSettings } from './rates.ts';
import { receive } from './receive.ts';
import { refuseUnknown } from './routes-known.ts';
import { compileValidator } from './validate.ts';

/** Routes are registered on this: their schemas give the types of what they read. */
export type ApiServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export type ServerOptions = GuardOptions & {
  /** What the server offers beyond itself. */
  routes: readonly ((server: ApiServer) => void | Promise<void>)[];
  limits?: Partial<ServerLimits>;
  rates?: Partial<RateSettings>;
  /** By which names it is called, and from where. Without it: by those of loopback, by no page of another origin. */
  hosts?: Partial<HostRules>;
  /** Addresses of proxies whose word about the caller's address is believed. */
  proxies?: readonly string[];
  log?: FastifyBaseLogger;
  /** Without it there are no routes for the state of the server. */
  operations?: OperationsOptions;
};

export type OperationsOptions = {
  checks: readonly ReadyCheck[];
  /** Who may read /metrics: everybody, keys with the scope admin, nobody. */
  metrics: 'open' | 'admin' | 'off';
  gauges: readonly Gauge[];
};

const READY_MS = 2000;

/** A server that does not listen yet; see listen.ts. */
export async function createServer(options: ServerOptions): Promise<ApiServer> {
  const { operations } = options;
  const metrics =
    operations === undefined || operations.metrics === 'off' ? null : await createMetrics(operations.gauges);
  const server = createBare(options);
  answerErrors(server, metrics);
  refuseUnknown(server);
  requireScopes(server, options);
  receive(server, {
    guard: options,
    hosts: { hosts: [], origins: [], reachable: false, ...options.hosts },
    rates: { ...DEFAULT_RATES, ...options.rates },
    metrics,
  });
  for (const register of options.routes) await register(server);
  if (operations !== undefined)
    healthRoutes(server, { checks: operations.checks, isDraining: () => server.draining, deadlineMs: READY_MS });
  if (metrics !== null) metricsRoute(server, metrics, operations?.metrics === 'open');
  return server;
}

function createBare(options: ServerOptions): ApiServer {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const proxies = [...(options.proxies ?? [])];
  const server = fastify({
    ...(options.log === undefined ? {} : { loggerInstance: options.log }),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    trustProxy: proxies.length === 0 ? false : proxies,
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    // Idle connections end at once, those with a request when it is answered; who comes later is told in our own form.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: limits.maxParamLength },
    frameworkErrors: (error, request, reply) => {
      const { status, answer } = toRefusal(error, request.id);
      // No route, so no schema that could say what is sent.
      const plain = reply as unknown as FastifyReply;
      plain.headers({ ...SAFE_HEADERS, 'x-request-id': request.id });
      plain.code(status).send(answer);
    },
    clientErrorHandler: answerMalformed,
  }).withTypeProvider<TypeBoxTypeProvider>();
  limitConnections(server.server, limits.maxConnections, proxies.length === 0 ? limits.maxConnectionsPerAddress : null);
  server.setValidatorCompiler(compileValidator);
  takeJson(server, limits.maxDepth);
  return server;
}

function answerErrors(server: ApiServer, metrics: Metrics | null): void {
  server.setErrorHandler((error, request, reply) => {
    const { status, answer, unexpected } = toRefusal(error, request.id);
    if (unexpected) request.log.error({ err: error }, 'a request failed');
    metrics?.refused(answer.error);
    const { challenge } = request.routeOptions.config;
    if (status === 401) reply.header('www-authenticate', challenge?.(request, 'identity') ?? 'Bearer');
    else if (challenge !== undefined && answer.error === 'FORBIDDEN' && answer.details.scopes !== undefined)
      reply.header('www-authenticate', challenge(request, 'scope'));
    const { retryAfterSeconds } = answer.details;
    if (typeof retryAfterSeconds === 'number') reply.header('retry-after', String(retryAfterSeconds));
    // They were those of a file that could not be read.
    reply.removeHeader('etag').removeHeader('content-disposition');
    const body = request.routeOptions.config.rpc === true ? toRpcError(error, request.id) : answer;
    reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body);
  });
}

function metricsRoute(server: ApiServer, metrics: Metrics, open: boolean): void {
  server.get('/metrics', { config: { scope: open ? 'anyone' : 'admin' } }, async (_request, reply) => {
    const { type, text } = await metrics.render();
    return reply.type(type).send(text);
  });
}

/** A client's own id is kept when nothing can be done with it: it stands in logs and headers. */
function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId(Date.now());
}
