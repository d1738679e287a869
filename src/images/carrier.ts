import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { readEntries } from './entries.ts';
import { refuse } from './refusal.ts';
import { type Chunks, HEAD_BYTES, type Meter, packingOf, requireGoingOn, unpack } from './unpack.ts';

/** What an image comes in: named parts, read as often as needed. A part that is no regular file is not there. */
export type Carrier = {
  has(path: string): Promise<boolean>;
  read(path: string): Chunks;
  bytes(path: string): Promise<number>;
  /** The whole file, when it is a tar: a plain root file system has no parts. */
  whole: (() => Chunks) | null;
  close(): Promise<void>;
};

const CHUNK_BYTES = 1024 ** 2;
// A FIFO must not hang us, and a link must not lead to what the caller alone can read.
const READ_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export function openLayout(directory: string, { signal }: Meter): Carrier {
  const at = (path: string) => {
    // Node would take it for a fault of ours.
    if (path.includes('\0')) throw refuse('missing-blob', path, 'is not in it');
    const plain = normalize(path);
    if (isAbsolute(plain) || plain.startsWith('..')) throw refuse('manifest', path, 'is a part outside of the layout');
    return join(directory, plain);
  };
  return {
    async has(path) {
      const file = await openRegular(at(path));
      await file?.close();
      return file !== null;
    },
    async bytes(path) {
      const file = await requireRegular(at(path), path);
      try {
        return (await file.stat()).size;
      } finally {
        await file.close();
      }
    },
    async *read(path) {
      const file = await requireRegular(at(path), path);
      try {
        yield* readRange(file, 0, Number.POSITIVE_INFINITY, signal);
      } finally {
        await file.close();
      }
    },
    whole: null,
    close: async () => undefined,
  };
}

/** A tar on disk, opened once; its parts are read from where a first pass found them. */
export async function openTar(path: string, spool: string, meter: Meter): Promise<Carrier> {
  const given = await openPlain(path);
  const file = await inflateAside(given, spool, meter);
  try {
    const parts = await listParts(file, meter);
    const part = (name: string) => {
      const found = parts.get(normalize(name));
      if (found === undefined) throw refuse('missing-blob', name, 'is not in it');
      return found;
    };
    return {
      has: async name => parts.has(normalize(name)),
      bytes: async name => part(name).bytes,
      async *read(name) {
        const { offset, bytes } = part(name);
        yield* readRange(file, offset, bytes, meter.signal);
      },
      whole: () => readRange(file, 0, Number.POSITIVE_INFINITY, meter.signal),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openPlain(path: string): Promise<FileHandle> {
  // The person named this path: a link in it is theirs.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw refuse('not-an-image', null, `is no file: ${path}`);
}

/** `docker save | gzip`: unpacked once to a file of ours, because parts are read in another order than they stand. */
async function inflateAside(given: FileHandle, spool: string, meter: Meter): Promise<FileHandle> {
  if (!(await isPacked(given))) return given;
  const aside = await open(spool, 'wx+', 0o600);
  try {
    for await (const chunk of unpack('file', readRange(given, 0, Number.POSITIVE_INFINITY, meter.signal), meter))
      await aside.writeFile(chunk);
    // The layers inside are counted for themselves.
    meter.unpackedBytes = 0;
    return aside;
  } catch (error) {
    await aside.close();
    throw error;
  } finally {
    await given.close();
  }
}

async function isPacked(given: FileHandle): Promise<boolean> {
  try {
    const { buffer, bytesRead } = await given.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return packingOf('file', buffer.subarray(0, bytesRead)) !== null;
  } catch (error) {
    await given.close();
    throw error;
  }
}

type Part = { offset: number; bytes: number };

/** Where each regular file at most three levels deep lies: manifests and blobs are never deeper. */
async function listParts(file: FileHandle, { limits, signal, onBytes }: Meter): Promise<Map<string, Part>> {
  const parts = new Map<string, Part>();
  const links: { name: string; target: string }[] = [];
  let entries = 0;
  for await (const { name, type, offset, bytes, linkTarget } of readEntries(
    'file',
    readRange(file, 0, Number.POSITIVE_INFINITY, signal),
  )) {
    onBytes(offset);
    if (++entries > limits.entries) throw refuse('entries', null, `has more than ${limits.entries} entries`);
    if (name.length > 256 || name.split('/').length > 4) continue;
    if (type === 'file') parts.set(normalize(name), { offset, bytes });
    // Older docker: a layer that occurs twice is a link to the first (`../ID/layer.tar`).
    if (type === 'symlink') links.push({ name: normalize(name), target: normalize(join(name, '..', linkTarget)) });
  }
  for (const { name, target } of links) {
    const part = parts.get(target);
    if (part !== undefined && !parts.has(name)) parts.set(name, part);
  }
  return parts;
}

/** Where nobody wants it any more it is told here: a file of holes has neither entries nor an end that is soon reached. */
async function* readRange(
  file: FileHandle,
  from: number,
  bytes: number,
  signal: AbortSignal | null,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; ) {
    requireGoingOn(signal);
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - at));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, from + at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

async function openRegular(path: string): Promise<FileHandle | null> {
  let file: FileHandle;
  try {
    file = await open(path, READ_REGULAR);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENAMETOOLONG'].includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

async function requireRegular(path: string, name: string): Promise<FileHandle> {
  const file = await openRegular(path);
  if (file === null) throw refuse('missing-blob', name, 'is not in it');
  return file;
}

/** A directory is an OCI layout, a file is a tar of one kind or another. */
export async function openCarrier(path: string, spool: string, meter: Meter): Promise<Carrier> {
  let directory: boolean;
  try {
    directory = (await stat(path)).isDirectory();
  } catch (cause) {
    const code = ['ENOENT', 'ENOTDIR'].includes(errnoOf(cause) ?? '') ? 'NOT_FOUND' : 'UNREADABLE';
    throw new SkillboxError(code, `there is no image at ${path}`, { cause });
  }
  return directory ? openLayout(path, meter) : openTar(path, spool, meter);
}
