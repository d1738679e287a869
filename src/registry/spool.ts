import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { renderSize, SkillboxError } from '../base/index.ts';
import type { Bytes } from '../service/index.ts';
import { type Blob, discard, partPath, sweepParts, type Writer } from '../store/index.ts';

/** Where archives lie while they are looked into. */
export type Spool = { directory: string; writer: Writer };
export type Spooled = Blob & { path: string };

/** The directories that this process has cleared of what dead ones left: once is enough. */
const swept = new Set<string>();

/** Runs the body with the bytes in a private file, which is gone afterwards. More than `maxBytes` is not even written. */
export async function withSpooled<T>(
  { directory, writer }: Spool,
  content: Bytes,
  maxBytes: number,
  body: (spooled: Spooled) => Promise<T>,
): Promise<T> {
  const path = await makePart({ directory, writer });
  try {
    return await body({ path, ...(await writeTo(path, content, maxBytes)) });
  } finally {
    await discard(path);
  }
}

/** The same for a file that outlives the call; whoever has it discards it. */
export async function spoolAside(spool: Spool, content: Bytes, maxBytes: number): Promise<Spooled> {
  const path = await makePart(spool);
  try {
    return { path, ...(await writeTo(path, content, maxBytes)) };
  } catch (error) {
    await discard(path);
    throw error;
  }
}

export function readSpooled({ path }: Spooled): AsyncIterable<Buffer> {
  return createReadStream(path) as AsyncIterable<Buffer>;
}

async function makePart({ directory, writer }: Spool): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (!swept.has(directory)) {
    swept.add(directory);
    await sweepParts(directory, writer);
  }
  return partPath(directory, writer);
}

async function writeTo(path: string, content: Bytes, maxBytes: number): Promise<Blob> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await openPart(path);
  try {
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        throw new SkillboxError('ARCHIVE_TOO_LARGE', `the archive is over ${renderSize(maxBytes)}`, {
          details: { maxBytes },
        });
      }
      hash.update(chunk);
      await file.writeFile(chunk).catch(unwritable);
    }
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes };
}

function openPart(path: string) {
  return open(path, 'wx', 0o600).catch(unwritable);
}

function unwritable(cause: unknown): never {
  throw new SkillboxError('UNWRITABLE', 'the archive cannot be kept while it is looked into', { cause });
}
