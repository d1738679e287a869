import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SkillboxError } from '../base/index.ts';
import type { Blobs } from './store.ts';

const SHA256 = /^[0-9a-f]{64}$/;

/** Blobs as files named by their SHA-256, two levels deep. A blob is there whole or not at all. */
export function openDisk(directory: string): Blobs {
  const pathOf = (sha256: string) => join(directory, sha256.slice(0, 2), sha256);
  return {
    async put(content) {
      const temporary = join(directory, `.${randomUUID()}.part`);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const file = await open(temporary, 'wx', 0o600);
      const hash = createHash('sha256');
      let bytes = 0;
      try {
        for await (const chunk of content) {
          hash.update(chunk);
          bytes += chunk.length;
          await file.writeFile(chunk);
        }
        await file.sync();
      } catch (cause) {
        await file.close();
        await rm(temporary, { force: true });
        if (cause instanceof SkillboxError) throw cause;
        throw new SkillboxError('UNWRITABLE', `cannot store a blob in ${directory}`, { cause });
      }
      await file.close();
      const sha256 = hash.digest('hex');
      const path = pathOf(sha256);
      if (existsSync(path)) await rm(temporary, { force: true });
      else {
        mkdirSync(join(directory, sha256.slice(0, 2)), { recursive: true, mode: 0o700 });
        await rename(temporary, path);
      }
      return { sha256, bytes };
    },
    read(sha256) {
      const path = SHA256.test(sha256) ? pathOf(sha256) : null;
      return path === null || !existsSync(path) ? null : (createReadStream(path) as AsyncIterable<Buffer>);
    },
    url: sha256 => pathToFileURL(pathOf(sha256)).href,
  };
}
