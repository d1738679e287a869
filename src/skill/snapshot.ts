import type { BigIntStats } from 'node:fs';
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { showPath } from './names.ts';

/**
 * What identifies one state of one file. Any write moves ctime, which nobody can set back without the clock; on Linux
 * before 6.13 it moves in ticks of some milliseconds, within which two writes of one size look like one.
 */
export type FileState = { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint };

/** A file as it was when the folder was opened. */
export type Snapshot = {
  path: string;
  /** Where its bytes are, relative to the root: for a link inside the skill, the file that it leads to. */
  source: string;
  state: FileState;
};

// O_NOFOLLOW: a link put in the file's place is not followed. O_NONBLOCK: a FIFO put there does not hang us.
// Windows knows neither.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export function stateOf(stats: BigIntStats): FileState {
  return { dev: stats.dev, ino: stats.ino, size: stats.size, mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs };
}

export function isSameState(a: FileState, b: FileState): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

export function changedError(path: string, cause?: unknown): SkillboxError {
  const file = showPath(path);
  return new SkillboxError('SKILL_CHANGED', `${file} changed after the skill was opened`, { details: { file }, cause });
}

/** A descriptor of exactly the file that was found when the folder was opened; the caller closes it. */
export function openSnapshot(root: string, snapshot: Snapshot): number {
  const full = join(root, snapshot.source);
  const fd = openFile(full, snapshot.path);
  try {
    checkUnchanged(fd, snapshot);
    // A directory above it may have become a link that leads out of the skill since (or while) it was listed.
    if (locationOf(fd, full) !== full) throw changedError(snapshot.path);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Also after reading: bytes written meanwhile would be a mixture that nobody has checked. */
export function checkUnchanged(fd: number, snapshot: Snapshot): void {
  if (!isSameState(fstatSync(fd, { bigint: true }), snapshot.state)) throw changedError(snapshot.path);
}

export function readSnapshot(root: string, snapshot: Snapshot): Buffer {
  const fd = openSnapshot(root, snapshot);
  try {
    const content = Buffer.allocUnsafe(Number(snapshot.state.size));
    for (let at = 0; at < content.length; ) {
      const count = readSync(fd, content, at, content.length - at, at);
      if (count === 0) throw changedError(snapshot.path);
      at += count;
    }
    checkUnchanged(fd, snapshot);
    return content;
  } finally {
    closeSync(fd);
  }
}

function openFile(full: string, path: string): number {
  try {
    return openSync(full, OPEN_FLAGS);
  } catch (error) {
    const errno = errnoOf(error);
    // Not there, a link (ELOOP), a directory in its place or a file in its directory's: all were different before.
    if (errno === 'ENOENT' || errno === 'ELOOP' || errno === 'ENOTDIR' || errno === 'EISDIR' || errno === 'ENXIO') {
      throw changedError(path, error);
    }
    const file = showPath(path);
    throw new SkillboxError('UNREADABLE', `${file} cannot be read (${errno})`, { details: { file }, cause: error });
  }
}

/** Where the opened file really is. Linux tells it of the descriptor itself, elsewhere the path is asked again. */
function locationOf(fd: number, full: string): string {
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // No /proc in this chroot: the weaker question below still finds every link that stays in place.
    }
  }
  try {
    return realpathSync.native(full);
  } catch {
    // Gone or unreachable by now, which is not where it was.
    return '';
  }
}
