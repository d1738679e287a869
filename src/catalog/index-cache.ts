import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { makePrivate } from '../base/index.ts';
import { decodeRecords, encodeRecords } from './encode-records.ts';
import type { Records } from './records.ts';

/** The form of the records and the rules by which they are read; another number makes every file of the cache void. */
const FORMAT = 4;
/** Fewer folders than this are listed sooner than a file is read, unless some of them had to be read whole. */
const MIN_RECORDS = 32;
const MAX_BYTES = 128 * 1024 ** 2;
const KEPT_MS = 30 * 24 * 3600 * 1000;

/** What earlier scans learned, one file for each place. It only saves time: whatever is wrong with it, the scan goes on. */
export type IndexCache = {
  load(root: string): Records;
  save(root: string, records: Records): void;
};

export const NO_CACHE: IndexCache = { load: () => new Map(), save: () => {} };

/** The file itself says whose it is; two places with one name would only take it from each other. */
function indexFile(directory: string, root: string): string {
  return join(directory, `${spread(root, 0x811c9dc5)}${spread(root, 0x9dc5811c)}.index`);
}

/** FNV-1a */
function spread(text: string, seed: number): string {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** Up to here, to load what makes a digest (a fifth of Node's own start) takes longer than to go through the bytes ourselves. */
const SMALL_BYTES = 64 * 1024;

/** More than the name of a folder takes in the index of what is around it, less than the record of a skill. */
const RECORD_BYTES = 150;

/** Whether scans of this place have remembered most of so many folders, as far as can be told without reading what they wrote. */
export function isMostlyKnown(directory: string, root: string, folders: number): boolean {
  const { size = 0 } = statSync(indexFile(directory, root), { throwIfNoEntry: false }) ?? {};
  return size > (folders / 2) * RECORD_BYTES;
}

/** `version` is the program's: another one may read the same files differently. */
export function openIndexCache(directory: string, version: string): IndexCache {
  const fileOf = (root: string) => indexFile(directory, root);
  const headOf = (root: string, digest: string) => JSON.stringify({ format: FORMAT, version, root, digest });
  return {
    load(root) {
      const bytes = readOwn(fileOf(root));
      const end = bytes?.indexOf('\n') ?? -1;
      if (bytes === null || end === -1) return new Map();
      // Half a file, another version, another place, a flipped bit: all the same, it is built again.
      const expected = headOf(root, digestOf([bytes.subarray(end + 1)]));
      if (bytes.toString('utf8', 0, end) !== expected) return new Map();
      return decodeRecords(root, bytes.subarray(end + 1));
    },
    save(root, records) {
      if (records.size < MIN_RECORDS && !isCostly(records)) return;
      const body = encodeRecords(root, records);
      try {
        makePrivate(directory);
        replaceFile(fileOf(root), [Buffer.from(`${headOf(root, digestOf(body))}\n`), ...body]);
        removeOld(directory);
      } catch {
        // A full disk or a home that cannot be written costs the next scan some time, nothing else.
      }
    },
  };
}

/** Reading a skill whole may take the libraries for YAML and Markdown, which cost more than starting Node. */
function isCostly(records: Records): boolean {
  for (const { skill } of records.values()) if (skill?.deep) return true;
  return false;
}

/** Against what disks and killed processes do: nobody else can write the file. */
function digestOf(parts: readonly Buffer[]): string {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= SMALL_BYTES) {
    const text = parts.map(part => part.toString('latin1')).join('');
    return `${spread(text, 0x811c9dc5)}${spread(text, 0x9dc5811c)}`;
  }
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** The file, if it is ours alone: what somebody else could write must not speak for a skill. */
function readOwn(path: string): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return null; // not there yet, or not for us
  }
  try {
    const stats = fstatSync(fd);
    const foreign = process.getuid !== undefined && stats.uid !== process.getuid();
    if (!stats.isFile() || foreign || stats.size > MAX_BYTES) return null;
    if (process.platform !== 'win32' && (stats.mode & 0o022) !== 0) return null;
    return readFileSync(fd);
  } catch {
    return null; // a broken disk: the scan reads the skills themselves
  } finally {
    closeSync(fd);
  }
}

function replaceFile(path: string, parts: readonly Buffer[]): void {
  const temporary = `${path}.${process.pid}-${process.hrtime.bigint()}.tmp`;
  try {
    const fd = openSync(temporary, 'wx', 0o600);
    try {
      for (const part of parts) writeFileSync(fd, part);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // it was never made
    }
    throw error;
  }
}

/** Places that nobody scanned anew for a month, and what a killed process left. */
function removeOld(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    const keptMs = name.endsWith('.tmp') ? KEPT_MS / 720 : KEPT_MS;
    if (stats?.isFile() && Date.now() - stats.mtimeMs > keptMs) unlinkSync(path);
  }
}
