import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import { type Desk, EMPTY_SHELF } from '../agent/index.ts';
import type { McpCaller } from './caller.ts';
import { Limiter } from './limiter.ts';
import { serveSkills } from './skill-source.ts';

export type HostOptions = {
  desk: Desk;
  version: string;
  /** The operator's word; null: the client's roots decide. */
  workspace: string | null;
  /** Whose message it is. */
  callerOf: (ctx: ServerContext) => McpCaller;
  /** Calls at once. */
  maxCalls?: number;
};

/** What travels through the client between two rounds of one call. Sealed: a client cannot name another run. */
export type Pending = {
  /** Of the tool's name and the arguments: the answer is for this call only. */
  call: string;
  run: string | null;
  /** What the client's roots said; undefined when nobody asked. */
  workspace?: string | null;
};

/** Everything that the servers of one process, or of one tenant of it, share: one per connection over stdio, one per request over HTTP. */
export type Host = HostOptions & {
  /** The desk of callers who may not see what there is. */
  blind: Desk;
  codec: RequestStateCodec<Pending>;
  skills: SkillsExtension;
  calls: Limiter;
  /** Servers with a connection of their own, to be told of changes. */
  live: Set<McpServer>;
};

const MAX_CALLS = 32;
/** As long as a person may take to answer. */
const STATE_SECONDS = 3600;

export function createHost(options: HostOptions): Host {
  const { desk, maxCalls = MAX_CALLS } = options;
  return {
    ...options,
    blind: { ...desk, shelf: EMPTY_SHELF },
    codec: createRequestStateCodec<Pending>({ key: randomBytes(32), ttlSeconds: STATE_SECONDS }),
    skills: serveSkills(ctx => {
      const caller = options.callerOf(ctx);
      const { library, hold } = caller;
      return { library, hold, shelf: caller.scopes.includes('read') ? desk.shelf : EMPTY_SHELF };
    }),
    calls: new Limiter(maxCalls),
    live: new Set(),
  };
}

/** What a caller is offered: names and descriptions are for those who may read. */
export function deskOf({ desk, blind }: Host, { scopes }: McpCaller): Desk {
  return scopes.includes('read') ? desk : blind;
}
