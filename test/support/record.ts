import { newId } from '../../src/base/index.ts';
import { thisOwner } from '../../src/sandbox/index.ts';
import type { RunRecord, Writer } from '../../src/store/index.ts';

/** A run as it is recorded first. */
export function newRecord(changes: Partial<RunRecord> = {}): RunRecord {
  return {
    id: newId(Date.now()),
    tenant: null,
    by: { id: 'uid:0', channel: 'local' },
    attempt: 1,
    state: 'preparing',
    createdAt: Date.now(),
    startedAt: null,
    endedAt: null,
    skill: { name: 'demo', version: '1.0.0', digest: `sb1-sha256:${'0'.repeat(64)}`, dialect: 'skillbox' },
    target: 'main',
    owner: JSON.stringify(thisOwner()),
    sandbox: null,
    ending: null,
    exitCode: null,
    output: null,
    error: null,
    warnings: [],
    decision: null,
    approval: null,
    waiting: null,
    artifacts: [],
    archive: null,
    usage: null,
    logBytes: 0,
    ...changes,
  };
}

/** A writer that says of others that they are dead when their name says so. */
export const WRITER: Writer = { id: 'living', isDead: id => id.startsWith('dead') };

export async function* bytesOf(...chunks: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

export async function readAll(content: AsyncIterable<Buffer> | null): Promise<Buffer> {
  if (content === null) throw new Error('there is no such blob');
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
