import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, openSync } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errnoOf, SkillboxError } from '../base/index.ts';
import {
  type Blob,
  type BlobPage,
  type Blobs,
  checkRange,
  isBlobName,
  type StoredBlob,
  type UrlWish,
} from './blobs.ts';
import { discard, partPath, sweepParts, type Writer } from './parts.ts';
import { verified } from './verified.ts';

/** Makes the URL that a server of ours answers; without one, the file itself is what a local caller finds. */
export type UrlSigner = (sha256: string, wish: UrlWish) => string;

/** Blobs as files named by their SHA-256, two levels deep. A blob is there whole or not at all. */
export function openDisk(directory: string, writer: Writer, sign: UrlSigner | null = null): Blobs {
  const pathOf = (sha256: string) => join(directory, sha256.slice(0, 2), sha256);
  return {
    async put(content) {
      const aside = partPath(directory, writer);
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const blob = await writeAll(aside, content);
        const path = pathOf(blob.sha256);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        // Also over an equal one: then it is as new as this, and nobody who looks for old ones takes it away.
        await rename(aside, path);
        return blob;
      } catch (cause) {
        await discard(aside);
        if (cause instanceof SkillboxError) throw cause;
        throw new SkillboxError('UNWRITABLE', `cannot store a blob in ${directory}`, { cause });
      }
    },
    async read(sha256, range) {
      if (range !== undefined) checkRange(range);
      const fd = isBlobName(sha256) ? openIfThere(pathOf(sha256)) : null;
      if (fd === null) return null;
      if (range === undefined) return verified(createReadStream('', { fd }), sha256, asItIs);
      const { start, end } = range;
      return createReadStream('', { fd, start, ...(end === null ? {} : { end }) }) as AsyncIterable<Buffer>;
    },
    async size(sha256) {
      return isBlobName(sha256) ? ((await statIfThere(pathOf(sha256)))?.bytes ?? null) : null;
    },
    async remove(sha256, writtenBefore) {
      return isBlobName(sha256) && removeOld(pathOf(sha256), partPath(directory, writer), writtenBefore);
    },
    list: paging => list(directory, paging),
    url: async (sha256, wish) => (sign === null ? pathToFileURL(pathOf(sha256)).href : sign(sha256, wish)),
    async check() {
      const aside = partPath(directory, writer);
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        await writeAll(aside, someBytes());
      } catch (cause) {
        throw new SkillboxError('UNWRITABLE', `cannot store blobs in ${directory} (${errnoOf(cause) ?? 'unknown'})`, {
          cause,
        });
      } finally {
        await discard(aside);
      }
    },
    sweep: () => sweepParts(directory, writer),
    close: async () => undefined,
  };
}

function asItIs(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function writeAll(path: string, content: AsyncIterable<Uint8Array>): Promise<Blob> {
  const file = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
    // Before it gets its name: after a crash of the machine a name must not stand for bytes that never came.
    await file.sync();
    return { sha256: hash.digest('hex'), bytes };
  } finally {
    await file.close();
  }
}

async function* someBytes(): AsyncGenerator<Buffer> {
  yield Buffer.from('x');
}

/**
 * Moved aside first and looked at then: a put that comes before the move is seen by its time, and one that comes after it
 * stands under the name again. To look first and remove then would take away what came in between.
 */
async function removeOld(path: string, aside: string, writtenBefore: number | null): Promise<boolean> {
  if (writtenBefore !== null) {
    // A quick look, so that what is new keeps its name all the while.
    const found = await statIfThere(path);
    if (found === null || found.writtenAt >= writtenBefore) return false;
  }
  if ((await ifThere(rename(path, aside).then(() => true))) === null) return false;
  const moved = await statIfThere(aside);
  if (writtenBefore !== null && moved !== null && moved.writtenAt >= writtenBefore) {
    await rename(aside, path);
    return false;
  }
  await rm(aside, { force: true });
  return true;
}

async function list(directory: string, { limit, after }: { limit: number; after: string | null }): Promise<BlobPage> {
  const items: StoredBlob[] = [];
  const folders = (await namesIn(directory)).filter(name => name.length === 2 && name >= (after ?? '').slice(0, 2));
  for (const folder of folders.sort()) {
    const names = (await namesIn(join(directory, folder))).filter(name => isBlobName(name) && name > (after ?? ''));
    for (const sha256 of names.sort()) {
      const found = await statIfThere(join(directory, folder, sha256));
      if (found === null) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.sha256 ?? null };
      items.push({ sha256, ...found });
    }
  }
  return { items, next: null };
}

async function namesIn(directory: string): Promise<string[]> {
  return (await ifThere(readdir(directory))) ?? [];
}

/** At once, for that takes less than to wait for it. */
function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}

async function statIfThere(path: string): Promise<{ bytes: number; writtenAt: number } | null> {
  const stats = await ifThere(stat(path));
  return stats === null ? null : { bytes: stats.size, writtenAt: stats.mtimeMs };
}

async function ifThere<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
}
