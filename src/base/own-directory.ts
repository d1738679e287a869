import { mkdirSync, statSync } from 'node:fs';
import { SkillboxError } from './errors.ts';

const STICKY_FOR_ALL = 0o1002;

/** A directory such as /tmp. Threat: a `.git` that somebody else puts there makes all that lies in it one repository of theirs. */
export function isShared(directory: string): boolean {
  return ((statSync(directory, { throwIfNoEntry: false })?.mode ?? 0) & STICKY_FOR_ALL) === STICKY_FOR_ALL;
}

/** Threat: who else may write to the data directory chooses what runs, and where root writes. Made when it is not there. */
export function makeOwn(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(directory);
  const me = process.getuid?.();
  const foreign = me !== undefined && uid !== me;
  if (!foreign && (mode & 0o002) === 0) return;
  const why = foreign ? `belongs to uid ${uid}, not to ${me}` : 'can be written by everyone';
  throw new SkillboxError('UNWRITABLE', `the data directory ${directory} ${why}`, {
    hint: 'Make it yours alone (chown, chmod 700), or set SKILLBOX_DATA_DIR.',
  });
}
