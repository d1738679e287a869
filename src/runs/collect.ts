import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { errnoOf, type JsonValue, visibleLine } from '../base/index.ts';
import { checkPath } from '../skill/index.ts';
import type { Artifact, Blob, Blobs } from '../store/index.ts';
import { parseJson } from './json-output.ts';

/**
 * What a run left behind is read only after all its processes are dead, and still as hostile: a link would make us read the
 * host's files, a FIFO would make us wait, a sparse file would fill the disk. So nothing is followed, only regular files with
 * a single name are opened, and everything is bounded.
 */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export type CollectLimits = { outputBytes: number; files: number; totalBytes: number; depth: number };
export const COLLECT_LIMITS: CollectLimits = {
  outputBytes: 10 * 1024 ** 2,
  files: 10_000,
  totalBytes: 1024 ** 3,
  depth: 16,
};

export type CollectedOutput = { value: JsonValue; warnings: string[] } | { problem: string };

/** SB-08: the JSON in output.json; null when it was not written. */
export function collectOutput(path: string, limits: CollectLimits): CollectedOutput {
  const opened = openRegular(path);
  if (opened === 'absent') return { value: null, warnings: [] };
  if (typeof opened === 'string') return { problem: `output.json is ${opened}` };
  try {
    if (opened.size > limits.outputBytes) {
      return { problem: `output.json has ${opened.size} bytes; at most ${limits.outputBytes} are read` };
    }
    const parsed = parseJson(readAll(opened.fd, opened.size));
    return 'problem' in parsed ? { problem: `output.json cannot be read: ${parsed.problem}` } : parsed;
  } finally {
    closeSync(opened.fd);
  }
}

type Opened = { fd: number; size: number };

/** The open file, or a word for what stands there instead. */
function openRegular(path: string): Opened | 'absent' | 'a link' | 'not a regular file' | 'a hard link' | 'unreadable' {
  let fd: number;
  try {
    fd = openSync(path, OPEN_FLAGS);
  } catch (error) {
    switch (errnoOf(error)) {
      case 'ENOENT':
        return 'absent';
      case 'ELOOP':
        return 'a link';
      case 'ENXIO':
        return 'not a regular file';
      default:
        return 'unreadable';
    }
  }
  const stats = fstatSync(fd);
  const problem = !stats.isFile() ? 'not a regular file' : stats.nlink > 1 ? 'a hard link' : null;
  if (problem === null) return { fd, size: stats.size };
  closeSync(fd);
  return problem;
}

function readAll(fd: number, size: number): Buffer {
  const buffer = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const read = readSync(fd, buffer, length, size - length, length);
    if (read === 0) break;
    length += read;
  }
  return buffer.subarray(0, length);
}

export type CollectedFiles = {
  artifacts: Artifact[];
  archive: Blob | null;
  warnings: string[];
  problem: string | null;
};

/** SB-09: the regular files below the directory, each as a blob, and all of them as one tar.gz. */
export async function collectFiles(directory: string, blobs: Blobs, limits: CollectLimits): Promise<CollectedFiles> {
  const warnings: string[] = [];
  const found = listFiles(directory, limits, warnings);
  if ('problem' in found) return { artifacts: [], archive: null, warnings, problem: found.problem };
  const artifacts: Artifact[] = [];
  for (const path of found.paths) {
    const opened = openRegular(join(directory, path));
    if (typeof opened === 'string') {
      warnings.push(`${visibleLine(path)} was left out: it is ${opened}`);
      continue;
    }
    const blob = await blobs.put(chunks(opened));
    artifacts.push({ path, bytes: blob.bytes, sha256: blob.sha256 });
  }
  const archive = artifacts.length === 0 ? null : await blobs.put(archiveOf(artifacts, blobs));
  return { artifacts, archive, warnings, problem: null };
}

function listFiles(
  directory: string,
  limits: CollectLimits,
  warnings: string[],
): { paths: string[] } | { problem: string } {
  const paths: string[] = [];
  let bytes = 0;
  let seen = 0;
  const pending: { path: string; depth: number }[] = [{ path: '', depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const name of list(join(directory, next.path))) {
      if (++seen > limits.files) return { problem: `more than ${limits.files} files were written` };
      const path = next.path === '' ? name : `${next.path}/${name}`;
      const stats = lstatSync(join(directory, path), { throwIfNoEntry: false });
      const unsafe = checkPath(path);
      if (unsafe !== null) warnings.push(`${visibleLine(path)} was left out: ${unsafe}`);
      else if (stats?.isDirectory() === true) {
        if (next.depth >= limits.depth) return { problem: `files lie deeper than ${limits.depth} directories` };
        pending.push({ path, depth: next.depth + 1 });
      } else if (stats?.isFile() === true) {
        bytes += stats.size;
        if (bytes > limits.totalBytes) return { problem: `the files have more than ${limits.totalBytes} bytes` };
        paths.push(path);
      } else warnings.push(`${visibleLine(path)} was left out: it is not a regular file`);
    }
  }
  return { paths: paths.sort() };
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // not there, or closed to us: nothing was written that could be collected
  }
}

async function* chunks({ fd, size }: Opened): AsyncGenerator<Buffer> {
  try {
    const buffer = Buffer.allocUnsafe(64 * 1024);
    let at = 0;
    while (at < size) {
      const read = readSync(fd, buffer, 0, Math.min(buffer.length, size - at), at);
      if (read === 0) return;
      at += read;
      yield Buffer.from(buffer.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

/** Built from the stored blobs, so that the archive and the single files cannot differ. */
function archiveOf(artifacts: readonly Artifact[], blobs: Blobs): AsyncIterable<Buffer> {
  const tar = pack();
  const fill = async () => {
    for (const { path, bytes, sha256 } of artifacts) {
      const content = blobs.read(sha256);
      if (content === null) throw new Error(`the blob of ${path} vanished`);
      const entry = tar.entry({ name: path, size: bytes, mode: 0o644, mtime: new Date(0) });
      for await (const chunk of content) {
        if (!entry.write(chunk)) await new Promise<void>(resolve => entry.once('drain', () => resolve()));
      }
      await new Promise<void>((resolve, reject) => {
        entry.once('error', reject);
        entry.once('finish', () => resolve());
        entry.end(null);
      });
    }
    tar.finalize();
  };
  const zipped = createGzip({ level: 6 });
  tar.on('error', error => zipped.destroy(error));
  fill().catch((error: Error) => tar.destroy(error));
  tar.pipe(zipped);
  return zipped as AsyncIterable<Buffer>;
}
