import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type RawServerDefault,
} from 'fastify';
import { newId, SkillboxError } from '../base/index.ts';
import { toRefusal } from './answers.ts';
import { type GuardOptions, guard } from './guard.ts';
import { takeJson } from './json-body.ts';
import { DEFAULT_LIMITS, type ServerLimits } from './limits.ts';
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
  log?: FastifyBaseLogger;
};

/** A server that does not listen yet: `listen` and `inject` are the framework's. */
export async function createServer(options: ServerOptions): Promise<ApiServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const server = fastify({
    ...(options.log === undefined ? {} : { loggerInstance: options.log }),
    disableRequestLogging: true,
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    // Idle connections end at once, those with a request when it is answered.
    forceCloseConnections: 'idle',
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
  server.server.maxConnections = limits.maxConnections;
  server.setValidatorCompiler(compileValidator);
  takeJson(server, limits.maxDepth);
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SAFE_HEADERS, 'x-request-id': request.id });
  });
  server.setErrorHandler((error, request, reply) => {
    const { status, answer, unexpected } = toRefusal(error, request.id);
    if (unexpected) request.log.error({ err: error }, 'a request failed');
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    const { retryAfterSeconds } = answer.details;
    if (typeof retryAfterSeconds === 'number') reply.header('retry-after', String(retryAfterSeconds));
    reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(answer);
  });
  refuseUnknown(server);
  guard(server, options);
  for (const register of options.routes) await register(server);
  return server;
}

/** An answer is data: it is not cached, not sniffed, not shown in a frame, and nothing in it is started. */
const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** A client's own id is kept when nothing can be done with it: it stands in logs and headers. */
function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId(Date.now());
}

/** What is no HTTP, too slow or too long never becomes a request; it is answered by hand. */
function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, answer } = toRefusal(malformed(error.code), newId(Date.now()));
  const body = JSON.stringify(answer);
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(SAFE_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${answer.request_id}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function malformed(code: string | undefined): SkillboxError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new SkillboxError('REQUEST_TOO_SLOW', 'the request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW')
    return new SkillboxError('HEADERS_TOO_LARGE', 'the path and the headers are too long');
  return new SkillboxError('BODY_REFUSED', 'this is not HTTP as it should be');
}
