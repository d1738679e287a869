import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { hostHeaderValidation, originValidation, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { SkillboxError } from '../base/index.ts';
import type { Host } from './host.ts';
import { isKey } from './key.ts';
import { readBody } from './read-body.ts';
import { createServer } from './server.ts';
import { Sessions } from './sessions.ts';

export const MCP_PATH = '/mcp';
const LOOPBACK = '127.0.0.1';
/** By these names only, so that a page whose name was made to lead here is not served (DNS rebinding). */
const NAMES = ['localhost', '127.0.0.1'];
const REQUEST_MS = 30_000;
const MAX_CONNECTIONS = 256;

type Asked = IncomingMessage & { method: string; url: string };

export type HttpServer = {
  url: string;
  /** Tells every client that there are other skills now. */
  changed(): void;
  close(): Promise<void>;
};

/**
 * Streamable HTTP on the loopback interface. Who calls is asked in this order: by what name, from what page, with what key;
 * only then is a body read. The current protocol has no sessions; clients of 2025 get one.
 */
export async function serveHttp(host: Host, port: number, key: string): Promise<HttpServer> {
  const modern = createMcpHandler(() => createServer(host, false), { legacy: 'reject', onerror: () => undefined });
  const sessions = new Sessions(host);
  const serveModern = toNodeHandler(modern);
  const [isNamed, isFromHere] = [hostHeaderValidation(NAMES), originValidation(NAMES)];
  const answer = async (req: Asked, res: ServerResponse): Promise<void> => {
    if (!isNamed(req, res) || !isFromHere(req, res)) return;
    if (new URL(req.url, 'http://localhost').pathname !== MCP_PATH) return refuse(res, 404, 'There is nothing here.');
    if (!isKey(req.headers.authorization, key)) {
      res.setHeader('WWW-Authenticate', 'Bearer');
      return refuse(res, 401, 'Send the key that skillbox mcp showed: Authorization: Bearer KEY.');
    }
    if (req.method !== 'POST') return sessions.serve(req, res, undefined);
    const body = await readBody(req);
    if (body.kind === 'refused') return refuse(res, body.status, body.why);
    const isLegacy = await isLegacyRequest(await toWebRequest(req, body.value), body.value);
    return isLegacy ? sessions.serve(req, res, body.value) : serveModern(req, res, body.value);
  };
  const server = createHttpServer((req, res) => {
    // A request that a server was given has both.
    answer(req as Asked, res).catch(() => {
      if (!res.headersSent) refuse(res, 500, 'Something went wrong inside Skillbox.');
      else res.destroy();
    });
  });
  server.requestTimeout = REQUEST_MS;
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, port);
  const address = server.address();
  const at = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${LOOPBACK}:${at}${MCP_PATH}`,
    changed: () => {
      modern.notify.toolsChanged();
      modern.notify.resourcesChanged();
    },
    async close() {
      await sessions.close();
      await modern.close();
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

function listen(server: ReturnType<typeof createHttpServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', cause => {
      reject(
        new SkillboxError('USAGE', `cannot listen on port ${port}: ${cause.message}`, {
          cause,
          hint: 'Name another port.',
        }),
      );
    });
    server.listen(port, LOOPBACK, resolve);
  });
}

function refuse(res: ServerResponse, status: number, message: string): void {
  const error = { jsonrpc: '2.0', error: { code: status === 400 ? -32700 : -32000, message }, id: null };
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(error));
}
