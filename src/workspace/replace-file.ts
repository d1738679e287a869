import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { errnoOf, placeIn, SkillboxError, statIn, visibleLine } from '../base/index.ts';
import type { Reached } from './descend.ts';

/**
 * WS-06: the new content is complete under a name of our own before it takes the place of the old one, so nobody ever sees a
 * part of it. The rename replaces whatever has the name by then, a link included: it follows nothing.
 */
export async function replaceFile<T>(
  reached: Reached,
  content: Buffer,
  expected: Stats | null,
  before: (created: boolean) => Promise<T>,
): Promise<T> {
  const { parent, name } = reached;
  const shown = visibleLine(reached.parts.join('/'));
  const old = probe(placeIn(parent, name), shown);
  if (expected !== null && (old === null || !isSame(old, expected))) throw changed(shown);
  const result = await before(old === null);
  const aside = `.skillbox-${randomBytes(9).toString('base64url')}.tmp`;
  try {
    writeAside(placeIn(parent, aside), content, old, statIn(parent, '.'));
    const now = statIn(parent, name);
    const isOld = old === null ? now === null : now !== null && isSame(now, old);
    if (!isOld) throw changed(shown);
    renameSync(placeIn(parent, aside), placeIn(parent, name));
    return result;
  } catch (cause) {
    removeAside(placeIn(parent, aside));
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `cannot write ${shown} (${errnoOf(cause) ?? String(cause)})`, { cause });
  }
}

/** What has the name now, when it is a file that may be written; null when there is nothing. Nothing is changed by looking. */
function probe(place: string, shown: string): Stats | null {
  let fd: number;
  try {
    fd = openSync(place, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === 'ENOENT') return null;
    if (errno === 'ELOOP') throw changed(shown);
    if (errno === 'EISDIR') throw new SkillboxError('UNWRITABLE', `${shown} is a folder`, { cause });
    throw new SkillboxError('UNWRITABLE', `cannot write ${shown} (${errno ?? String(cause)})`, { cause });
  }
  try {
    const stats = fstatSync(fd);
    if (stats.isFile()) return stats;
    throw new SkillboxError('UNWRITABLE', `${shown} is not a regular file`);
  } finally {
    closeSync(fd);
  }
}

function writeAside(place: string, content: Buffer, old: Stats | null, folder: Stats | null): void {
  const fd = openSync(place, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(fd, content, at);
    // A file that root writes in somebody's folder stays theirs.
    const owner = old ?? folder;
    if (process.getuid?.() === 0 && owner !== null) fchownSync(fd, owner.uid, owner.gid);
    if (old !== null) fchmodSync(fd, old.mode & 0o777);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function removeAside(place: string): void {
  try {
    unlinkSync(place);
  } catch {
    // It was never made, or the disk will not let it go; what is told is why the write failed.
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}

function changed(shown: string): SkillboxError {
  return new SkillboxError('FILE_CHANGED', `${shown} changed while it was written`);
}
