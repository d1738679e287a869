import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import { createDigest, type Digest } from './digest.ts';
import type { FileEntry, Folder } from './folder.ts';
import { MAX_RATIO, RATIO_FREE_BYTES } from './limits.ts';
import { changedError } from './snapshot.ts';
import {
  centralRecord,
  deflate,
  deflateAll,
  endRecords,
  type Fflate,
  localHeader,
  ZIP_BOUNDS,
  type ZipBounds,
} from './zip-write.ts';

export type WrittenArchive = { bytes: number; digest: string };

/** Up to this size a file is packed in memory. Larger ones are streamed, which gives other bytes: it never changes. */
const HELD_BYTES = 4 * 1024 ** 2;

/**
 * Packs the folder's files at the archive's root, and digests the very bytes that go into it.
 * To a path, the archive appears complete or not at all; what was there before is replaced.
 */
export async function writeArchive(
  folder: Folder,
  sink: Writable | string,
  bounds: ZipBounds = ZIP_BOUNDS,
): Promise<WrittenArchive> {
  if (typeof sink !== 'string') return pack(folder, sink, bounds);
  const target = resolve(sink);
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  // `wx`: never through something that already lies there. `flush`: the bytes are on disk before the name is.
  const stream = createWriteStream(temporary, { flags: 'wx', flush: true });
  try {
    const written = await pack(folder, stream, bounds);
    await rename(temporary, target);
    return written;
  } catch (cause) {
    // A stream that is still opening its file would create it after it was removed.
    await close(stream);
    await rm(temporary, { force: true });
    if (cause instanceof SkillboxError || errnoOf(cause) === null) throw cause;
    throw new SkillboxError('UNWRITABLE', `${visibleLine(target)} cannot be written (${errnoOf(cause)})`, { cause });
  }
}

async function pack(folder: Folder, sink: Writable, bounds: ZipBounds): Promise<WrittenArchive> {
  const digest = createDigest();
  let bytes = 0;
  async function* count(): AsyncGenerator<Buffer> {
    for await (const chunk of packFolder(folder, digest, bounds)) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  const source = Readable.from(count());
  try {
    await pipeline(source, sink);
    return { bytes, digest: digest.end() };
  } finally {
    // After a failure, the file that was being read is still open.
    await close(source);
  }
}

async function close(stream: Readable | Writable): Promise<void> {
  if (!stream.closed) await new Promise(done => void stream.once('close', done).destroy());
}

async function* packFolder(folder: Folder, digest: Digest, bounds: ZipBounds): AsyncGenerator<Buffer> {
  // Loaded here: most starts of the program never write an archive.
  const fflate = await import('fflate');
  const directory: Buffer[] = [];
  let start = 0;
  for (const file of folder.files) {
    const { path, size, executable } = file;
    const { data, ...packed } = await (size <= HELD_BYTES ? packHeld : packLarge)(fflate, folder, file, digest);
    const entry = { name: Buffer.from(path), executable, size, start, ...packed };
    const header = localHeader(entry, bounds);
    yield header;
    yield* data;
    start += header.length + packed.packedSize;
    directory.push(centralRecord(entry, bounds));
  }
  yield* directory;
  const bytes = directory.reduce((sum, record) => sum + record.length, 0);
  yield endRecords(directory.length, start, bytes, bounds);
}

/** `data` is `packedSize` bytes; the header before it tells all the rest. */
type Packed = {
  deflated: boolean;
  crc32: number;
  packedSize: number;
  data: Iterable<Buffer> | AsyncIterable<Buffer>;
};

async function packHeld(fflate: Fflate, folder: Folder, file: FileEntry, digest: Digest): Promise<Packed> {
  const chunks: Buffer[] = [];
  for await (const chunk of digestAlong(folder, file, digest, null)) chunks.push(chunk);
  const content = Buffer.concat(chunks);
  const packed = deflateAll(fflate, content);
  const deflated = isWorthIt(file, packed.length) && isSound(packed, content);
  const data = deflated ? packed : content;
  return { deflated, crc32: crc32(content), packedSize: data.length, data: [data] };
}

/** With flat memory: the file is read for what its header tells, and once more for its data. */
async function packLarge(fflate: Fflate, folder: Folder, file: FileEntry, digest: Digest): Promise<Packed> {
  let crc = 0;
  for await (const chunk of folder.stream(file.path)) crc = crc32(chunk, crc);
  const tried = await inflateAgain(deflate(fflate, folder.stream(file.path), file.size));
  const content = digestAlong(folder, file, digest, crc);
  if (tried === null || tried.crc32 !== crc || !isWorthIt(file, tried.bytes)) {
    return { deflated: false, crc32: crc, packedSize: file.size, data: content };
  }
  return { deflated: true, crc32: crc, packedSize: tried.bytes, data: deflate(fflate, content, file.size) };
}

/** Our own reader refuses what grows like a bomb, so a large file that would is stored as it is. */
function isWorthIt({ size }: FileEntry, packedSize: number): boolean {
  return packedSize < size && (size <= RATIO_FREE_BYTES || size <= packedSize * MAX_RATIO);
}

/** fflate has packed wrongly before: what cannot be unpacked must be found before it is released. */
function isSound(packed: Buffer, content: Buffer): boolean {
  try {
    return inflateRawSync(packed, { maxOutputLength: content.length }).equals(content);
  } catch (error) {
    if (!isBroken(error)) throw error;
    return false;
  }
}

/** Only these: for want of memory a file must not be stored here and deflated elsewhere. */
function isBroken(error: unknown): boolean {
  return ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'ERR_BUFFER_TOO_LARGE'].includes(errnoOf(error) ?? '');
}

/** The same in pieces: the size of the packed data and the CRC of what comes out of it; null when it is broken. */
async function inflateAgain(packed: AsyncIterable<Buffer>): Promise<{ bytes: number; crc32: number } | null> {
  const inflater = createInflateRaw();
  let bytes = 0;
  let crc = 0;
  async function* count(): AsyncGenerator<Buffer> {
    for await (const chunk of packed) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  try {
    await pipeline(Readable.from(count()), inflater, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) crc = crc32(chunk, crc);
    });
  } catch (error) {
    if (!isBroken(error)) throw error;
    return null;
  }
  return inflater.bytesWritten === bytes ? { bytes, crc32: crc } : null;
}

/** `crc` is what the header before the data already says, if it does. */
async function* digestAlong(folder: Folder, file: FileEntry, digest: Digest, crc: number | null) {
  let found = 0;
  digest.begin(file);
  for await (const chunk of folder.stream(file.path)) {
    digest.add(chunk);
    if (crc !== null) found = crc32(chunk, found);
    yield chunk;
  }
  if (crc !== null && found !== crc) throw changedError(file.path);
}
