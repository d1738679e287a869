import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  createMcpHandler,
  type JSONRPCRequest,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { isObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { refuse } from './answer.ts';
import { type McpCaller, toAuth } from './caller.ts';
import { tellChanges } from './changes.ts';
import type { Host } from './host.ts';
import { kindOf } from './kind.ts';
import { createServer } from './server.ts';
import { SESSION_LIMITS, type SessionLimits, Sessions } from './sessions.ts';

export const MCP_PATH = '/mcp';

/** A request whose caller somebody has let in already; who that is, nobody here asks again. */
export type Visit = {
  tenant: string;
  /** Of the caller, within the tenant. */
  id: string;
  /** Throws when they would not be let in any more. */
  confirm: () => Promise<void>;
};

/** What callers of one tenant share. */
export type Room = {
  host: Host;
  /** What is offered: the same object as long as nothing changed; null when nobody would be told of it, and nothing was seen. */
  current: (isWatched: boolean) => unknown;
};

export type EndpointOptions<V extends Visit, R extends Room> = {
  makeRoom: (tenant: string) => R;
  callerIn: (room: R, visit: V) => Omit<McpCaller, 'gone' | 'hold'>;
  /** How often it is asked whether those who are still being answered may be. */
  confirmMs?: number;
  sessions?: SessionLimits;
};

/** MCP by HTTP, behind somebody's server: it listens nowhere, and knows nothing of names, origins and keys. */
export type Endpoint<V extends Visit> = {
  serve(visit: V, req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void>;
  /** Somebody may have lost access: who has is cut off at once. */
  recheck(): Promise<void>;
  /** Ends what would go on for ever; calls are still answered. */
  endStreams(): void;
  close(): Promise<void>;
  readonly sessions: number;
};

type OpenRoom<R> = {
  room: R;
  modern: McpHttpHandler;
  serve: ReturnType<typeof toNodeHandler>;
  open: number;
  usedAt: number;
  stop: () => void;
  /** Bytes of files that are being read for its callers, or answered to them. */
  held: number;
  answers: Set<ServerResponse>;
};
/** A request that a server was given has both. */
type Asked = IncomingMessage & { method: string; url: string; auth: AuthInfo };
type OpenRequest = { isStream: boolean; confirm: () => Promise<void>; end: () => void };

const CONFIRM_MS = 5000;
const TIDY_MS = 60_000;
const ROOM_IDLE_MS = 10 * 60_000;
/**
 * Of one tenant at once: held for it, and answered but not read by its callers. Threat: who asks for much and reads nothing
 * would have the server keep it all, until it has no memory for the others.
 */
const MAX_BYTES = 32 * 1024 ** 2;

/** Streamable HTTP. The current protocol has no sessions; clients of 2025 get one. */
export function createEndpoint<V extends Visit, R extends Room>(options: EndpointOptions<V, R>): Endpoint<V> {
  const sessions = new Sessions(options.sessions ?? SESSION_LIMITS);
  const rooms = new Map<string, OpenRoom<R>>();
  const requests = new Set<OpenRequest>();
  const roomOf = (tenant: string): OpenRoom<R> => {
    const known = rooms.get(tenant) ?? openRoom(options.makeRoom(tenant));
    rooms.set(tenant, known);
    return known;
  };
  const recheckRequests = () => Promise.all([...requests].map(one => one.confirm().catch(() => one.end())));
  const closeIdle = () => {
    sessions.endIdle();
    for (const [tenant, room] of rooms) {
      const { open, usedAt } = room;
      if (open > 0 || sessions.isUsed(room.room.host) || Date.now() - usedAt < ROOM_IDLE_MS) continue;
      rooms.delete(tenant);
      void closeRoom(room);
    }
  };
  const confirming = setInterval(() => void recheckRequests(), options.confirmMs ?? CONFIRM_MS).unref();
  const tidying = setInterval(() => {
    closeIdle();
    void sessions.recheck();
  }, TIDY_MS).unref();
  return {
    async serve(visit, req, res, body) {
      // They left while it was asked who they are. Nothing would say so again, and what is kept of them would stay.
      if (res.closed) return;
      const opened = roomOf(visit.tenant);
      if (unreadOf(opened) > MAX_BYTES) return refuse(res, 503, -32000, 'Read what was answered before.');
      const gone = new AbortController();
      const { tenant, id } = visit;
      const confirm = () => visit.confirm();
      const request: OpenRequest = {
        isStream: isStream(req, body),
        confirm,
        end: () => {
          gone.abort();
          res.destroy();
        },
      };
      requests.add(request);
      opened.open += 1;
      opened.answers.add(res);
      const { hold, releaseAll } = holdingIn(opened);
      res.once('close', () => {
        releaseAll();
        opened.answers.delete(res);
        requests.delete(request);
        opened.open -= 1;
        opened.usedAt = Date.now();
      });
      const caller: McpCaller = { ...options.callerIn(opened.room, visit), gone: gone.signal, hold };
      const asked = Object.assign(req, { auth: toAuth(caller) });
      const kind = kindOf(req, body);
      if (kind === 'modern') return opened.serve(asked as Asked, res, body);
      const one = kind === 'request' ? (body as JSONRPCRequest) : null;
      return sessions.serve({ host: opened.room.host, tenant, id, confirm }, { req: asked, res, body, request: one });
    },
    async recheck() {
      await Promise.all([recheckRequests(), sessions.recheck()]);
    },
    endStreams() {
      for (const request of requests) if (request.isStream) request.end();
    },
    async close() {
      clearInterval(confirming);
      clearInterval(tidying);
      await sessions.close();
      for (const room of rooms.values()) await closeRoom(room);
      rooms.clear();
    },
    get sessions() {
      return sessions.size;
    },
  };
}

function openRoom<R extends Room>(room: R): OpenRoom<R> {
  const { host } = room;
  const modern = createMcpHandler(() => createServer(host, false), { legacy: 'reject', onerror: () => undefined });
  const opened = {
    room,
    modern,
    serve: toNodeHandler(modern),
    open: 0,
    usedAt: Date.now(),
    held: 0,
    answers: new Set<ServerResponse>(),
  };
  const stop = tellChanges(
    () => room.current(opened.open > 0),
    host.live,
    () => {
      modern.notify.toolsChanged();
      modern.notify.resourcesChanged();
    },
  );
  return Object.assign(opened, { stop });
}

async function closeRoom<R>({ modern, stop }: OpenRoom<R>): Promise<void> {
  stop();
  await modern.close();
}

function unreadOf({ answers }: { answers: ReadonlySet<ServerResponse> }): number {
  let bytes = 0;
  for (const { writableLength } of answers) bytes += writableLength;
  return bytes;
}

/** What one request holds of what its tenant may; given back with its answer at the latest. */
function holdingIn(room: { held: number }): { hold: McpCaller['hold']; releaseAll: () => void } {
  const held = new Set<{ bytes: number }>();
  const release = (one: { bytes: number }) => {
    if (held.delete(one)) room.held -= one.bytes;
  };
  return {
    hold(bytes) {
      if (room.held + bytes > MAX_BYTES)
        throw new SkillboxError('BUSY', 'too much is being read at once', { hint: 'Try again when that is answered.' });
      const one = { bytes };
      held.add(one);
      room.held += bytes;
      return () => release(one);
    },
    releaseAll() {
      for (const one of held) release(one);
    },
  };
}

/** Answers that end only when somebody ends them. */
function isStream({ method }: IncomingMessage, body: unknown): boolean {
  if (method === 'GET') return true;
  return isObject(body as JsonValue) && (body as { method?: unknown }).method === 'subscriptions/listen';
}
