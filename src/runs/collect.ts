import { chmodSync, closeSync, readSync } from 'node:fs';
import {
  errnoOf,
  type Held,
  hold,
  holdBelow,
  type JsonValue,
  namesIn,
  openBelow,
  release,
  SkillboxError,
  statIn,
  visibleLine,
} from '../base/index.ts';
import { checkPath } from '../skill/index.ts';
import type { Artifact, Blob, Blobs } from '../store/index.ts';
import { parseJson } from './json-output.ts';

/**
 * What a run left behind is read only after all its processes are dead, and still as hostile: a link would make us read the
 * host's files, a FIFO would make us wait, a sparse file would fill the disk. So nothing is followed, only regular files with
 * a single name are opened, and everything is bounded.
 */
export type CollectLimits = { outputBytes: number; files: number; totalBytes: number; depth: number };
export const COLLECT_LIMITS: CollectLimits = {
  outputBytes: 10 * 1024 ** 2,
  files: 10_000,
  totalBytes: 1024 ** 3,
  depth: 16,
};
const MAX_WARNINGS = 20;

export type CollectedOutput = { value: JsonValue; warnings: string[] } | { problem: string };

/** SB-08: the JSON in the file at `path` below the run's directory; null when it was not written. */
export function collectOutput(out: string, path: string, limits: CollectLimits): CollectedOutput {
  const held = holdOut(out);
  try {
    const opened = openBelow(held, path);
    if (opened === 'absent') return { value: null, warnings: [] };
    if (typeof opened === 'string') return { problem: `output.json is ${opened}` };
    try {
      if (opened.bytes > limits.outputBytes) {
        return { problem: `output.json has ${opened.bytes} bytes; at most ${limits.outputBytes} are read` };
      }
      const parsed = parseJson(Buffer.concat([...chunks(opened.fd, opened.bytes)]));
      return 'problem' in parsed ? { problem: `output.json cannot be read: ${parsed.problem}` } : parsed;
    } finally {
      closeSync(opened.fd);
    }
  } finally {
    release(held);
  }
}

export type CollectedFiles = {
  artifacts: Artifact[];
  archive: Blob | null;
  warnings: string[];
  problem: string | null;
};

/** SB-09: the regular files below `path` in the run's directory, each as a blob, and all of them as one tar.gz. */
export async function collectFiles(
  out: string,
  path: string,
  blobs: Blobs,
  limits: CollectLimits,
  rename: (path: string) => string = path => path,
  signal: AbortSignal | null = null,
): Promise<CollectedFiles> {
  const found: Found = { paths: [], bytes: 0, seen: 0, warnings: [], unsaid: 0, limits };
  const held = holdOut(out);
  try {
    const files = holdBelow(held, path);
    if (files === 'absent') return { artifacts: [], archive: null, warnings: [], problem: null };
    if (typeof files === 'string') {
      return { artifacts: [], archive: null, warnings: [], problem: `the directory for files is ${files}` };
    }
    try {
      const problem = listFiles(files, '', found);
      const artifacts = problem === null ? await keepFiles(files, found, { blobs, rename, signal }) : [];
      const archive =
        artifacts.length === 0 ? null : await orGivenUp(blobs.put(await packed(artifacts, blobs)), signal);
      const more = found.unsaid === 0 ? [] : [`${found.unsaid} more were left out`];
      return { artifacts, archive, warnings: [...found.warnings, ...more], problem };
    } finally {
      release(files);
    }
  } finally {
    release(held);
  }
}

/** The directory is ours, whatever the run made of its permissions. */
function holdOut(out: string): Held {
  try {
    return hold(out);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    chmodSync(out, 0o700);
    return hold(out);
  }
}

type Found = {
  paths: string[];
  bytes: number;
  seen: number;
  warnings: string[];
  unsaid: number;
  limits: CollectLimits;
};

function leaveOut(found: Found, path: string, why: string): void {
  // A run that makes ten thousand odd files must not make as many sentences.
  if (found.warnings.length >= MAX_WARNINGS) found.unsaid++;
  else found.warnings.push(`${visibleLine(path)} was left out: it ${why}`);
}

/** Answers why nothing of it can be kept, or null. */
function listFiles(directory: Held, prefix: string, found: Found): string | null {
  const { limits } = found;
  for (const name of namesIn(directory)) {
    if (++found.seen > limits.files) return `more than ${limits.files} files were written`;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const unsafe = checkPath(path, limits.depth);
    const stats = unsafe === null ? statIn(directory, name) : null;
    if (unsafe !== null) leaveOut(found, path, unsafe);
    else if (stats?.isDirectory() === true) {
      const problem = listBelow(directory, name, path, found);
      if (problem !== null) return problem;
    } else if (stats?.isFile() === true) {
      // By size, not by blocks: what is sparse here would be whole in the store.
      found.bytes += stats.size;
      if (found.bytes > limits.totalBytes) return `the files have more than ${limits.totalBytes} bytes`;
      found.paths.push(path);
    } else leaveOut(found, path, 'is not a regular file');
  }
  return null;
}

function listBelow(directory: Held, name: string, path: string, found: Found): string | null {
  const inner = holdBelow(directory, name);
  if (typeof inner === 'string') {
    leaveOut(found, path, `is ${inner}`);
    return null;
  }
  try {
    return listFiles(inner, path, found);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    leaveOut(found, path, 'is unreadable');
    return null;
  } finally {
    release(inner);
  }
}

type Keeping = { blobs: Blobs; rename: (path: string) => string; signal: AbortSignal | null };

async function keepFiles(directory: Held, found: Found, { blobs, rename, signal }: Keeping): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  for (const path of found.paths.sort()) {
    const opened = openBelow(directory, path);
    if (typeof opened === 'string') {
      leaveOut(found, path, `is ${opened}`);
      continue;
    }
    // Whoever gives up leaves the file to the store, which may still read it: another one could get its number.
    const put = blobs.put(streamOf(opened.fd, opened.bytes)).finally(() => closeSync(opened.fd));
    const { bytes, sha256 } = await orGivenUp(put, signal);
    artifacts.push({ path: rename(path), bytes, sha256 });
  }
  return artifacts;
}

/** A store may take minutes to say that it does not answer; nobody who wants an end waits for that. */
async function orGivenUp<T>(work: Promise<T>, signal: AbortSignal | null): Promise<T> {
  if (signal === null) return work;
  work.catch(() => undefined); // nobody may be there any more to be told
  let give = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    give = () => reject(new SkillboxError('CANCELED', 'what the run left is not stored any more'));
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}

const CHUNK_BYTES = 64 * 1024;

/** At most `bytes` of the file, each chunk a buffer of its own. */
function* chunks(fd: number, bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - at));
    const read = readSync(fd, buffer, 0, buffer.length, at);
    if (read === 0) return;
    at += read;
    yield buffer.subarray(0, read);
  }
}

async function* streamOf(fd: number, bytes: number): AsyncGenerator<Buffer> {
  yield* chunks(fd, bytes);
}

/** Loaded with the first run that leaves files. */
async function packed(artifacts: readonly Artifact[], blobs: Blobs): Promise<AsyncIterable<Buffer>> {
  const { archiveOf } = await import('./archive.ts');
  return archiveOf(artifacts, blobs);
}
