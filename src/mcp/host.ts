import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, type McpServer, type RequestStateCodec } from '@modelcontextprotocol/server';
import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import type { Desk } from '../agent/index.ts';
import { Limiter } from './limiter.ts';
import { serveSkills } from './skill-source.ts';

export type HostOptions = {
  desk: Desk;
  version: string;
  /** The operator's word; null: the client's roots decide. */
  workspace: string | null;
};

/** What travels through the client between two rounds of one call. Sealed: a client cannot name another run. */
export type Pending = {
  /** Of the tool's name and the arguments: the answer is for this call only. */
  call: string;
  run: string | null;
  /** What the client's roots said; undefined when nobody asked. */
  workspace?: string | null;
};

/** Everything that the servers of one process share: one per connection over stdio, one per request over HTTP. */
export type Host = HostOptions & {
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
  return {
    ...options,
    codec: createRequestStateCodec<Pending>({ key: randomBytes(32), ttlSeconds: STATE_SECONDS }),
    skills: serveSkills(options.desk),
    calls: new Limiter(MAX_CALLS),
    live: new Set(),
  };
}
