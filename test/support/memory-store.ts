import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRange } from '../../src/store/blobs.ts';
import { type Blobs, isBlobName, openStore, type Store } from '../../src/store/index.ts';
import { WRITER } from './record.ts';

const MEMORY = '/dev/shm';

/** Blobs in this process, for tests that want none on a disk. `content` is what is there, for tests that meddle with it. */
export function memoryBlobs(content = new Map<string, { bytes: Buffer; writtenAt: number }>()): Blobs {
  const find = (sha256: string) => (isBlobName(sha256) ? content.get(sha256) : undefined);
  return {
    async put(source) {
      const parts: Uint8Array[] = [];
      for await (const part of source) parts.push(Buffer.from(part));
      const bytes = Buffer.concat(parts);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      content.set(sha256, { bytes, writtenAt: Date.now() });
      return { sha256, bytes: bytes.length };
    },
    async read(sha256, range = { start: 0, end: null }) {
      checkRange(range);
      const found = find(sha256);
      const end = range.end === null ? undefined : range.end + 1;
      return found === undefined ? null : pieces(found.bytes.subarray(range.start, end));
    },
    size: async sha256 => find(sha256)?.bytes.length ?? null,
    async remove(sha256, writtenBefore) {
      const found = find(sha256);
      if (found === undefined || (writtenBefore !== null && found.writtenAt >= writtenBefore)) return false;
      return content.delete(sha256);
    },
    async list({ limit, after }) {
      const names = [...content.keys()].filter(name => after === null || name > after).sort();
      const items = names.slice(0, limit).map(sha256 => {
        const { bytes, writtenAt } = content.get(sha256) ?? { bytes: Buffer.alloc(0), writtenAt: 0 };
        return { sha256, bytes: bytes.length, writtenAt };
      });
      return { items, next: names.length > limit ? (items.at(-1)?.sha256 ?? null) : null };
    },
    url: async sha256 => `memory:/${sha256}`,
    check: async () => undefined,
    sweep: async () => undefined,
    close: async () => undefined,
  };
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

/** A place for stores that is never on a disk; each `open` is another process's view of one and the same store. */
export type MemoryPlace = { open(): Store; close(): void };

/** Records in SQLite in the machine's memory, so that they are written and read by the very code that a disk has. */
export function newMemoryPlace(): MemoryPlace {
  const directory = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'skillbox-memory-'));
  const content = new Map<string, { bytes: Buffer; writtenAt: number }>();
  return {
    open: () => ({ ...openStore(directory, WRITER), blobs: memoryBlobs(content) }),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
