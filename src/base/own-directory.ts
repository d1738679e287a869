import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError } from './errors.ts';

const STICKY_FOR_ALL = 0o1002;

/** A directory such as /tmp. Threat: a `.git` that somebody else puts there makes all that lies in it one repository of theirs. */
export function isShared(directory: string): boolean {
  return ((statSync(directory, { throwIfNoEntry: false })?.mode ?? 0) & STICKY_FOR_ALL) === STICKY_FOR_ALL;
}

/** Threat: who else may write to the data directory chooses what runs, and where root writes. Made when it is not there. */
export function makeOwn(directory: string): void {
  makePrivate(directory);
  const { uid, mode } = statSync(directory);
  const me = process.getuid?.();
  const foreign = me !== undefined && uid !== me;
  if (!foreign && (mode & 0o002) === 0) return;
  const why = foreign ? `belongs to uid ${uid}, not to ${me}` : 'can be written by everyone';
  throw new SkillboxError('UNWRITABLE', `the data directory ${directory} ${why}`, {
    hint: 'Make it yours alone (chown, chmod 700), or set SKILLBOX_DATA_DIR.',
  });
}

/** A directory with those above it. Step by step: Node's own way to make a path whole does not end where the file system allows none of it, as in /proc. */
export function makePath(directory: string, mode = 0o777): void {
  if (isDirectory(directory)) return;
  const above = dirname(directory);
  // Where a file stands above it, the system says so.
  if (statSync(above, { throwIfNoEntry: false }) === undefined) makePath(above, mode);
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (errnoOf(error) !== 'EEXIST' || !isDirectory(directory)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The same for nobody else. */
export function makePrivate(directory: string): void {
  try {
    makePath(directory, 0o700);
  } catch (cause) {
    const { path = directory } = cause as NodeJS.ErrnoException;
    const code = errnoOf(cause);
    const where = code === 'ENOTDIR' ? dirname(path) : path;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'something else stands there' : code;
    throw new SkillboxError(
      'UNWRITABLE',
      `the data directory needs the directory ${where}, which cannot be made (${why})`,
      {
        hint: 'Make it, or set SKILLBOX_DATA_DIR to a directory of yours.',
        cause,
      },
    );
  }
}
