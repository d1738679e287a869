import { createHash, timingSafeEqual } from 'node:crypto';
import type { LocalDesk } from './agent/index.ts';
import { type ApiCaller, createServer, listen, mcpRoutes, type ServerOptions } from './api/index.ts';
import { SkillboxError } from './base/index.ts';
import type { Callers } from './callers/index.ts';
import { createLocalEndpoint, type Host, MCP_PATH } from './mcp/index.ts';

export type LoopbackOptions = {
  host: Host;
  desk: LocalDesk;
  /** What is offered: the same object as long as nothing changed. */
  current: () => unknown;
  port: number;
  /** Whoever shows it is the user. */
  key: string;
  /** API keys that the user lets in as well, each with its scopes; null when they named none. */
  keys: { callers: Pick<Callers, 'verify' | 'onChange'>; ids: readonly string[] } | null;
  /** Pages of other origins that may call from a browser. */
  origins: readonly string[];
};

export type Loopback = { url: string; close(): Promise<void> };

const LOOPBACK = '127.0.0.1';
const USER = 'user';
const PER_MINUTE = 1_000_000;
const OWNER: ApiCaller = {
  tenant: USER,
  id: USER,
  scopes: ['read', 'run'],
  expiresAt: null,
  key: null,
  requestsPerMinute: PER_MINUTE,
};
const KEY_HINT = [
  'Send `Authorization: Bearer KEY` with the key that `skillbox mcp --http` showed at its start, or that of its SKILLBOX_MCP_KEY.',
  'One of `skillbox key create` is let in when its id was named with `--allow-key`.',
].join(' ');
const MOMENT_MS = 60_000;
const LIMITS = { maxBodyBytes: 4 * 1024 ** 2, maxConnections: 256, requestMs: 30_000 };

/** MCP by HTTP for the user of this machine, behind the door that a server has: the same names, origins, rates and limits. */
export async function serveLoopback(options: LoopbackOptions): Promise<Loopback> {
  const { host, desk, current, port, key, keys, origins } = options;
  const endpoint = createLocalEndpoint(host, desk, current);
  const server = await createServer({
    ...createDoor(key, keys),
    keyHint: KEY_HINT,
    serviceFor: () => {
      throw new SkillboxError('INTERNAL', 'there is no service here');
    },
    limits: LIMITS,
    hosts: { hosts: [], origins, reachable: false },
    routes: [
      mcpRoutes({
        serve: ({ caller, confirm }, request, response, body) => {
          const { id, scopes } = caller;
          return endpoint.serve({ tenant: USER, id, scopes, key: caller.key, confirm }, request, response, body);
        },
        endStreams: () => endpoint.endStreams(),
        close: () => endpoint.close(),
      }),
    ],
  });
  const forget = keys?.callers.onChange(() => void endpoint.recheck());
  const { url } = await listen(server, LOOPBACK, port);
  return {
    url: `${url}${MCP_PATH}`,
    async close() {
      forget?.();
      endpoint.endStreams();
      await endpoint.close();
      server.server.closeAllConnections();
      await server.close();
    },
  };
}

type Door = Pick<ServerOptions, 'authenticate' | 'recall'>;

/**
 * The user's key is compared at each request. Who showed it a moment ago is only not waited for: somebody who tries keys is
 * slowed down before a right one counts, so a key is not recalled that nobody was let in with.
 */
function createDoor(key: string, keys: LoopbackOptions['keys']): Door {
  const known = digest(key);
  const isUsers = (token: string) => timingSafeEqual(digest(token), known);
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    recall: token => (performance.now() - shownAt < MOMENT_MS && isUsers(token) ? OWNER : null),
    async authenticate(token) {
      if (!isUsers(token)) return whoHolds(token, keys);
      shownAt = performance.now();
      return OWNER;
    },
  };
}

/** Threat: a key that was given for a tenant of a server would open its operator's own files. So only those that were named. */
async function whoHolds(token: string, keys: LoopbackOptions['keys']): Promise<ApiCaller> {
  const caller = keys === null ? null : await keys.callers.verify(token);
  if (caller?.key != null && keys?.ids.includes(caller.key)) return { ...caller, tenant: USER };
  throw new SkillboxError('UNAUTHENTICATED', 'this key is not known', { hint: KEY_HINT });
}

/** Keys are compared by it, so that neither length nor beginning of ours is told by the time it takes. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
