import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createDeflateRaw } from 'node:zlib';
import type { ZipFile } from 'yazl';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import { createDigest, type Digest } from './digest.ts';
import type { FileEntry, Folder } from './folder.ts';
import { MAX_RATIO, RATIO_FREE_BYTES } from './limits.ts';

export type WrittenArchive = { bytes: number; digest: string };

/**
 * Fixed: equal content must give equal bytes (SB-12). Deflate does not show in which pieces its input came. What it
 * does show is zlib itself: official builds of Node carry the same one, a distribution's build may pack otherwise,
 * which is why a release is known by its digest and not by the bytes of its zip.
 */
const DEFLATED = 6;
const STORED = 0;

/**
 * Packs the folder's files at the archive's root, and digests the very bytes that go into it.
 * To a path, the archive appears complete or not at all; what was there before is replaced.
 */
export async function writeArchive(folder: Folder, sink: Writable | string): Promise<WrittenArchive> {
  const levels = await chooseLevels(folder);
  // Loaded here: most starts of the program never write an archive.
  const { ZipFile } = await import('yazl');
  if (typeof sink !== 'string') return pack(new ZipFile(), folder, levels, sink);
  const target = resolve(sink);
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const written = await pack(new ZipFile(), folder, levels, createTemporary(temporary));
    await rename(temporary, target);
    return written;
  } catch (cause) {
    await rm(temporary, { force: true });
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `${visibleLine(target)} cannot be written (${errnoOf(cause)})`, { cause });
  }
}

function createTemporary(path: string): Writable {
  // `wx`: never through something that already lies there. `flush`: the bytes are on disk before the name is.
  return createWriteStream(path, { flags: 'wx', flush: true });
}

type Levels = ReadonlyMap<string, number>;

async function pack(zip: ZipFile, folder: Folder, levels: Levels, sink: Writable): Promise<WrittenArchive> {
  const output = zip.outputStream;
  if (!(output instanceof PassThrough)) throw new SkillboxError('INTERNAL', 'yazl gives another stream than it did');
  const digest = createDigest();
  const sources = new Set<Readable>();
  // yazl pipes without forwarding errors: unless they reach its output, the archive would never end.
  const fail = (error: Error) => output.destroy(error);
  zip.once('error', fail);
  for (const file of folder.files) {
    const options = { ...metadataOf(file), compressionLevel: levels.get(file.path) ?? DEFLATED };
    zip.addReadStreamLazy(file.path, options, give => {
      const source = Readable.from(digestAlong(folder, file, digest));
      sources.add(source.once('error', fail).once('close', () => sources.delete(source)));
      give(null, source);
    });
  }
  zip.end();
  let bytes = 0;
  try {
    await pipeline(
      output,
      async function* count(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          yield chunk;
        }
      },
      sink,
    );
    return { bytes, digest: digest.end() };
  } finally {
    // After a failure, the file that was being read is still open.
    await Promise.all(Array.from(sources, close));
  }
}

function close(source: Readable): Promise<void> {
  return new Promise(done => void source.once('close', done).destroy());
}

/** Nothing of the machine, the user or the clock. */
function metadataOf(file: FileEntry) {
  return {
    size: file.size,
    mode: file.executable ? 0o100755 : 0o100644,
    // DOS times are local times: only a date made of local parts gives the same bytes in every time zone.
    mtime: new Date(1980, 0, 1),
    forceDosTimestamp: true,
  };
}

async function* digestAlong(folder: Folder, file: FileEntry, digest: Digest): AsyncGenerator<Buffer> {
  digest.begin(file);
  for await (const chunk of folder.stream(file.path)) {
    digest.add(chunk);
    yield chunk;
  }
}

/** Before writing, because a local header tells the method and cannot be taken back. */
async function chooseLevels(folder: Folder): Promise<Map<string, number>> {
  const levels = new Map<string, number>();
  for (const file of folder.files) levels.set(file.path, await chooseLevel(folder, file));
  return levels;
}

/** Our own reader refuses what grows like a bomb, so a large file that would is stored as it is. */
async function chooseLevel(folder: Folder, file: FileEntry): Promise<number> {
  if (file.size === 0) return STORED;
  if (file.size <= RATIO_FREE_BYTES) return DEFLATED;
  let packed = 0;
  const deflater = createDeflateRaw({ level: DEFLATED });
  deflater.on('data', (chunk: Buffer) => {
    packed += chunk.length;
  });
  await pipeline(Readable.from(folder.stream(file.path)), deflater);
  return file.size > packed * MAX_RATIO ? STORED : DEFLATED;
}
