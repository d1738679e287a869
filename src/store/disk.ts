import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SkillboxError } from '../base/index.ts';
import { discard, partPath, sweepParts, type Writer } from './parts.ts';
import type { Blob, Blobs } from './store.ts';

const SHA256 = /^[0-9a-f]{64}$/;

export type Disk = Blobs & { sweep(): Promise<void> };

/** Blobs as files named by their SHA-256, two levels deep. A blob is there whole or not at all. */
export function openDisk(directory: string, writer: Writer): Disk {
  const pathOf = (sha256: string) => join(directory, sha256.slice(0, 2), sha256);
  return {
    async put(content) {
      const aside = partPath(directory, writer);
      try {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const blob = await writeAll(aside, content);
        const path = pathOf(blob.sha256);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        if (existsSync(path)) await rm(aside);
        else await rename(aside, path);
        return blob;
      } catch (cause) {
        await discard(aside);
        if (cause instanceof SkillboxError) throw cause;
        throw new SkillboxError('UNWRITABLE', `cannot store a blob in ${directory}`, { cause });
      }
    },
    read(sha256) {
      const path = SHA256.test(sha256) ? pathOf(sha256) : null;
      return path === null || !existsSync(path) ? null : (createReadStream(path) as AsyncIterable<Buffer>);
    },
    url: sha256 => pathToFileURL(pathOf(sha256)).href,
    sweep: () => sweepParts(directory, writer),
  };
}

async function writeAll(path: string, content: AsyncIterable<Buffer>): Promise<Blob> {
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
