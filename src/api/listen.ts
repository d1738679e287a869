import type { AddressInfo } from 'node:net';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { ApiServer } from './server.ts';

export type Listening = {
  /** For people: where it is reached from this machine. */
  url: string;
  port: number;
  /**
   * Takes nothing new, lets what is on the way end, and meanwhile `others` too. After the deadline what is left is cut off.
   * False when something was.
   */
  drain(deadlineMs: number, others: () => Promise<void>): Promise<boolean>;
};

/** Listens; says in a sentence why when it cannot. */
export async function listen(server: ApiServer, host: string, port: number): Promise<Listening> {
  try {
    await server.listen({ host, port });
  } catch (cause) {
    throw new SkillboxError('CANNOT_LISTEN', `cannot listen on ${host} at port ${port}: ${reasonOf(cause)}`, { cause });
  }
  const address = server.server.address() as AddressInfo;
  const shown = WILDCARDS.includes(address.address) ? '127.0.0.1' : address.address;
  return {
    url: `http://${shown.includes(':') ? `[${shown}]` : shown}:${address.port}`,
    port: address.port,
    drain: (deadlineMs, others) => drain(server, deadlineMs, others),
  };
}

const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something else listens there already',
  EACCES: 'this user may not',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such name',
};

function reasonOf(cause: unknown): string {
  return REASONS[errnoOf(cause) ?? ''] ?? (cause instanceof Error ? cause.message : String(cause));
}

const IDLE_MS = 50;

async function drain(server: ApiServer, deadlineMs: number, others: () => Promise<void>): Promise<boolean> {
  server.draining = true;
  const closing = Promise.all([server.close(), others()]).then(() => true);
  // A connection whose last answer has gone out has nothing more to wait for.
  const idle = setInterval(() => server.server.closeIdleConnections(), IDLE_MS);
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<false>(resolve => {
    timer = setTimeout(() => resolve(false), deadlineMs);
  });
  try {
    return await Promise.race([closing, over]);
  } finally {
    clearTimeout(timer);
    clearInterval(idle);
    server.server.closeAllConnections();
    // Whoever waited for the deadline has been told; what still goes wrong is not worth a crash.
    closing.catch(() => undefined);
  }
}
