import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Service } from '../../service/index.ts';
import { toRpcError } from '../answers.ts';
import type { ApiCaller } from '../caller.ts';
import type { ApiServer } from '../server.ts';
import { challengeFor, type SignIn, signInRoutes } from './sign-in.ts';

/** A request that has come through the guard. */
export type McpVisit = {
  caller: ApiCaller;
  /** Asked for by those who serve tenants. */
  service: () => Service;
  /** Throws when the caller would not be let in any more. It holds on to nothing of the request. */
  confirm: () => Promise<void>;
  onFault: (error: unknown) => void;
};

/** What speaks the protocol; this end knows nothing of it. */
export type McpEndpoint = {
  serve(visit: McpVisit, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Ends what would go on for ever: the server stops. */
  endStreams(): void;
  close(): Promise<void>;
};

const PATH = '/mcp';
/** Of each message what it needs is asked again; with neither of these there is nothing for the caller here. */
export const MCP_SCOPES = ['read', 'run'] as const;

/** MCP behind the same door as everything else: names, origins, keys, rates, limits, log. */
export function mcpRoutes(endpoint: McpEndpoint, signIn: SignIn | null = null): (server: ApiServer) => void {
  return server => {
    if (signIn !== null) signInRoutes(server, PATH, signIn);
    server.addHook('preClose', async () => endpoint.endStreams());
    server.addHook('onClose', async () => endpoint.close());
    const config = {
      scope: MCP_SCOPES,
      rpc: true,
      ...(signIn === null ? {} : { challenge: challengeFor(PATH, signIn) }),
    };
    const handler = (request: FastifyRequest, reply: FastifyReply) => hand(endpoint, request, reply);
    server.post(PATH, { config, schema: { ...ABOUT, operationId: 'mcp' } }, handler);
    server.route({ method: 'GET', url: PATH, exposeHeadRoute: false, config, schema: { hide: true }, handler });
    server.route({ method: 'DELETE', url: PATH, config, schema: { hide: true }, handler });
  };
}

const ABOUT = {
  tags: ['mcp'],
  summary: 'The Model Context Protocol, for agents',
  description:
    'Streamable HTTP: JSON-RPC messages as the protocol has them, with the same key. GET and DELETE are for sessions of clients of 2025.',
};

async function hand(endpoint: McpEndpoint, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { body } = request;
  // A batch is as many requests as it has messages.
  if (Array.isArray(body)) request.charge(body.length - 1);
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  const onFault = (error: unknown) => request.log.error({ err: error }, 'a request failed');
  const visit: McpVisit = {
    caller: request.caller,
    service: () => request.service,
    confirm: request.confirming(),
    onFault,
  };
  reply.hijack();
  try {
    await endpoint.serve(visit, request.raw, raw, body);
  } catch (error) {
    onFault(error);
    if (raw.headersSent) raw.destroy();
    else raw.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(toRpcError(error, request.id)));
  }
}
