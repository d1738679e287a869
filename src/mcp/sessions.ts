import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { isInitializeRequest, type JSONRPCRequest, type McpServer } from '@modelcontextprotocol/server';
import { refuse } from './answer.ts';
import type { Host } from './host.ts';
import { createServer } from './server.ts';
import { type AskedRequest, SessionTransport } from './session-transport.ts';

/** Whose request it is. Nobody gets into a session that another has begun. */
export type Visitor = {
  host: Host;
  tenant: string;
  /** Of one tenant. */
  id: string;
  /** Throws when they would not be let in any more. It is kept, so it must hold on to little. */
  confirm: () => Promise<void>;
};

type Session = Visitor & { transport: SessionTransport; mcp: McpServer; usedAt: number; open: number };

/** What is asked, and where the answer goes. */
export type Asked = {
  req: AskedRequest;
  res: ServerResponse;
  body: unknown;
  /** The body, when it is known to be one request that does not begin a session. */
  request: JSONRPCRequest | null;
};

export type SessionLimits = { ofCaller: number; ofTenant: number; ofAll: number; idleMs: number };

export const SESSION_LIMITS: SessionLimits = { ofCaller: 64, ofTenant: 512, ofAll: 2048, idleMs: 30 * 60_000 };

/** Clients of the protocols of 2025, each with a server of its own from `initialize` to DELETE. */
export class Sessions {
  readonly #limits: SessionLimits;
  readonly #all = new Map<string, Session>();

  constructor(limits: SessionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  async serve(visitor: Visitor, asked: Asked): Promise<void> {
    const { req, res, body } = asked;
    const id = req.headers['mcp-session-id'];
    const session = typeof id === 'string' ? this.#all.get(id) : undefined;
    if (session !== undefined && isSame(session, visitor)) return this.#handle(session, visitor, asked);
    // Threat: whoever learns the id of a session takes it over. Another's is not there.
    if (id !== undefined) return refuse(res, 404, -32001, 'There is no such session; initialize anew.');
    if (req.method !== 'POST') return refuse(res, 405, -32000, 'Method not allowed.');
    if (!isInitializeRequest(body))
      return refuse(res, 400, -32600, 'Send initialize first, and the session id with the rest.');
    const [name, begun] = await this.#begin(visitor);
    await this.#handle(begun, visitor, asked);
    // What was not answered as an initialization has begun nothing.
    if (begun.transport.sessionId === undefined) this.#end(name);
  }

  async #handle(session: Session, { confirm }: Visitor, { req, res, body, request }: Asked): Promise<void> {
    session.usedAt = Date.now();
    session.confirm = confirm;
    session.open += 1;
    res.once('close', () => {
      session.open -= 1;
      session.usedAt = Date.now();
    });
    return session.transport.handle(req, res, body, request);
  }

  /** It has its place before anything is waited for: many that begin at once do not exceed the limits together. */
  async #begin(visitor: Visitor): Promise<[string, Session]> {
    this.#makeRoom(visitor);
    const name = randomUUID();
    const mcp = createServer(visitor.host, true);
    const transport = new SessionTransport(name, () => this.#end(name));
    const session: Session = { ...visitor, transport, mcp, usedAt: Date.now(), open: 0 };
    this.#all.set(name, session);
    visitor.host.live.add(mcp);
    await mcp.connect(transport);
    return [name, session];
  }

  #end(name: string): void {
    const session = this.#all.get(name);
    if (session === undefined) return;
    this.#all.delete(name);
    session.host.live.delete(session.mcp);
    session.mcp.close().catch(() => undefined);
  }

  /** Those that nobody uses go; then the one longest unused of whoever has too many: nobody else pays for it. */
  #makeRoom({ tenant, id }: Visitor): void {
    this.endIdle();
    const { ofCaller, ofTenant, ofAll } = this.#limits;
    this.#keepBelow(ofCaller, session => session.tenant === tenant && session.id === id);
    this.#keepBelow(ofTenant, session => session.tenant === tenant);
    const largest = this.#largestTenant();
    this.#keepBelow(ofAll - this.#all.size + this.#countOf(largest), session => session.tenant === largest);
  }

  #keepBelow(most: number, isOne: (session: Session) => boolean): void {
    const some = [...this.#all].filter(([, session]) => isOne(session)).sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [name] of some.slice(0, Math.max(0, some.length - most + 1))) this.#end(name);
  }

  #countOf(tenant: string): number {
    let count = 0;
    for (const session of this.#all.values()) if (session.tenant === tenant) count += 1;
    return count;
  }

  #largestTenant(): string {
    const counts = new Map<string, number>();
    for (const { tenant } of this.#all.values()) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const [largest] = [...counts].sort(([, a], [, b]) => b - a);
    return largest?.[0] ?? '';
  }

  endIdle(): void {
    const before = Date.now() - this.#limits.idleMs;
    for (const [name, { usedAt, open }] of this.#all) if (open === 0 && usedAt < before) this.#end(name);
  }

  isUsed(host: Host): boolean {
    return [...this.#all.values()].some(session => session.host === host);
  }

  /** Ends those whose callers would not be let in any more. */
  async recheck(): Promise<void> {
    const checks = [...this.#all].map(([name, { confirm }]) => confirm().catch(() => this.#end(name)));
    await Promise.all(checks);
  }

  async close(): Promise<void> {
    for (const name of this.#all.keys()) this.#end(name);
  }
}

function isSame(session: Session, { tenant, id }: Visitor): boolean {
  return session.tenant === tenant && session.id === id;
}
