import { extract } from 'tar-stream';
import { SkillboxError } from '../base/index.ts';
import { refuse } from './refusal.ts';
import type { Chunks } from './unpack.ts';

/** An entry of a tar, as its header has it. `content` must be read to its end, or left alone, before the next entry. */
export type TarEntry = {
  name: string;
  type: string | null;
  mode: number;
  bytes: number;
  mtimeSeconds: number;
  linkTarget: string;
  /** Where the content begins in the tar. */
  offset: number;
  content: Chunks;
};

const MAX_PAX_KEYS = 256;
const MAX_MTIME = 2 ** 33;

/** The entries of a tar one by one, in bounded memory. What tar-stream cannot read is a refusal. */
export async function* readEntries(what: string, tar: Chunks): AsyncGenerator<TarEntry> {
  const reader = extract();
  let fault: unknown = null;
  const feeding = feed(tar, reader).catch((error: unknown) => {
    fault = error;
    reader.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  try {
    for await (const entry of reader) {
      yield toEntry(entry.header, entry as Chunks);
      entry.resume(); // what was not read is skipped
    }
    await feeding;
    if (fault !== null) throw fault;
  } catch (error) {
    const first = fault ?? error;
    if (first instanceof SkillboxError || !(first instanceof Error) || !isTarError(first)) throw first;
    throw refuse('tar', what, `is not a whole tar: ${first.message}`, first);
  } finally {
    reader.destroy();
    await feeding;
  }
}

/** tar-stream's own errors carry no code; those of files and of zlib do. */
function isTarError(error: Error): boolean {
  return !('code' in error) && !(error instanceof TypeError);
}

async function feed(tar: Chunks, reader: ReturnType<typeof extract>): Promise<void> {
  let gone = false;
  let failed: unknown = null;
  const closed = new Promise<void>(resolve => {
    reader.once('error', error => {
      failed = error;
    });
    reader.once('close', () => {
      gone = true;
      resolve();
    });
  });
  for await (const chunk of tar) {
    if (gone) break;
    if (!reader.write(chunk))
      await Promise.race([new Promise(resolve => reader.once('drain', () => resolve(null))), closed]);
  }
  if (!gone) reader.end(undefined);
  await closed;
  if (failed !== null) throw failed;
}

function toEntry(header: object, content: Chunks): TarEntry {
  const { name, type, mode, size, mtime, linkname, byteOffset, pax } = header as Record<string, unknown>;
  const shown = typeof name === 'string' ? name : '';
  const keys = typeof pax === 'object' && pax !== null ? Object.keys(pax) : [];
  // A global header is copied into every entry's: a large one makes each entry dear.
  if (keys.length > MAX_PAX_KEYS) throw refuse('tar', shown, `has ${keys.length} extended attributes`);
  // Its content is a map of holes, under a made-up name: taken as it stands it would be another file.
  if (keys.some(key => key.startsWith('GNU.sparse'))) throw refuse('type', shown, 'is a sparse file');
  // tar-stream reads a size that is no number as null, and then waits for its end for ever.
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw refuse('tar', shown, 'has a size that is no number');
  const seconds = mtime instanceof Date ? Math.floor(mtime.getTime() / 1000) : 0;
  return {
    name: shown,
    type: typeof type === 'string' ? type : null,
    mode: whole(mode),
    bytes: size,
    mtimeSeconds: seconds >= 0 && seconds < MAX_MTIME ? seconds : 0,
    linkTarget: typeof linkname === 'string' ? linkname : '',
    offset: whole(byteOffset),
    content,
  };
}

function whole(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
