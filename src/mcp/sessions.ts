import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { isInitializeRequest, type McpServer } from '@modelcontextprotocol/server';
import type { Host } from './host.ts';
import { createServer } from './server.ts';

type Session = { transport: NodeStreamableHTTPServerTransport; mcp: McpServer; usedAt: number };

const MAX_SESSIONS = 64;
const IDLE_MS = 30 * 60_000;

/** Clients of the protocols of 2025, each with a server of its own from `initialize` to DELETE. */
export class Sessions {
  readonly #host: Host;
  readonly #open = new Map<string, Session>();

  constructor(host: Host) {
    this.#host = host;
  }

  async serve(req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void> {
    const id = req.headers['mcp-session-id'];
    const session = typeof id === 'string' ? this.#open.get(id) : undefined;
    if (session !== undefined) {
      session.usedAt = Date.now();
      return session.transport.handleRequest(req, res, body);
    }
    if (id !== undefined) return refuse(res, 404, -32001, 'There is no such session; initialize anew.');
    if (req.method !== 'POST') return refuse(res, 405, -32000, 'Method not allowed.');
    if (!isInitializeRequest(body))
      return refuse(res, 400, -32600, 'Send initialize first, and the session id with the rest.');
    await this.#makeRoom();
    const opened = await this.#start();
    return opened.handleRequest(req, res, body);
  }

  async #start(): Promise<NodeStreamableHTTPServerTransport> {
    const mcp = createServer(this.#host, true);
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => {
        this.#open.set(id, { transport, mcp, usedAt: Date.now() });
        this.#host.live.add(mcp);
      },
      onsessionclosed: id => this.#forget(id),
    });
    await mcp.connect(transport);
    return transport;
  }

  #forget(id: string): void {
    const session = this.#open.get(id);
    if (session !== undefined) this.#host.live.delete(session.mcp);
    this.#open.delete(id);
  }

  /** Those that nobody used for long go; when there are still too many, the one that was used least lately. */
  async #makeRoom(): Promise<void> {
    const byAge = [...this.#open].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const old = byAge.filter(([, { usedAt }], index) => {
      return Date.now() - usedAt > IDLE_MS || index <= byAge.length - MAX_SESSIONS;
    });
    for (const [id, { mcp }] of old) {
      this.#forget(id);
      await mcp.close();
    }
  }

  async close(): Promise<void> {
    for (const [id, { mcp }] of this.#open) {
      this.#forget(id);
      await mcp.close();
    }
  }
}

function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  const error = { jsonrpc: '2.0', error: { code, message }, id: null };
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(error));
}
