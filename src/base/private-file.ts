import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, type SkillboxError } from './errors.ts';

const MAX_BYTES = 16 * 1024;

/**
 * `links`: whether the path may be a link, as orchestrators mount secrets; in our own directory nobody makes one but to have
 * their key used instead of ours. `refuse` says what is wrong in the words of whoever the key belongs to.
 */
export type PrivateFileOptions = { links: boolean; refuse: (why: string, cause?: unknown) => SkillboxError };

/** A file that holds a key; null when there is none. One that others may read is refused: its key must count as known. */
export function readPrivateFile(path: string, { links, refuse }: PrivateFileOptions): Buffer | null {
  let fd: number;
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    // Not waiting: a FIFO in the place of the file must not hold us.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (links ? 0 : constants.O_NOFOLLOW));
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw refuse(`cannot be opened (${errnoOf(cause) ?? 'unknown'})`, cause);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > MAX_BYTES) throw refuse('holds no key');
    if ((stats.mode & 0o077) !== 0) throw refuse('can be read or written by others');
    const me = process.getuid?.();
    if (me !== undefined && stats.uid !== me && stats.uid !== 0) throw refuse(`belongs to uid ${stats.uid}`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Puts it there whole or not at all, for its owner alone; false when something is there already. */
export function writePrivateFile(path: string, content: string): boolean {
  const aside = `${path}.${randomUUID()}.part`;
  try {
    const fd = openSync(aside, 'wx', 0o600);
    try {
      writeSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(aside, path);
    syncDirectory(dirname(path));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** A key must be found after a crash of the machine if anything that was made with it is. */
export function syncDirectory(path: string): void {
  syncFile(path);
}

/** What it holds is on the disk, whoever wrote it. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
