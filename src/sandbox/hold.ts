import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { SkillboxError } from '../base/index.ts';

/** A file or directory of the host, whatever leads to it. */
export type Identity = { device: bigint; inode: bigint };
export type Held = Identity & { uid: number; gid: number; close(): void };

/** Only a name for what is there: nothing is read, and a pipe is not waited for. Node knows no name for it. */
export const O_PATH = 0o10000000;

/**
 * Opens what a run is given, and keeps it open: as long as it is, nothing else can get its inode. An engine mounts by name, so
 * what it found there is compared with this, inside, before anything of the skill runs.
 */
export function hold(source: string): Held {
  refuseLink(source);
  const fd = open(source, O_PATH | constants.O_NOFOLLOW);
  try {
    return { ...identityOfOpen(fd, source), close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Which file or directory stands there now; no part of the path may be a link. */
export function identityAt(path: string): Identity {
  const fd = open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const { device, inode } = identityOfOpen(fd, path);
    return { device, inode };
  } finally {
    closeSync(fd);
  }
}

function open(path: string, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (cause) {
    throw new SkillboxError('SANDBOX_FAILED', `${path} is not what it was when it was judged.`, { cause });
  }
}

function identityOfOpen(fd: number, path: string): Identity & { uid: number; gid: number } {
  // The kernel's own word for what was opened: a link on the way would show.
  const opened = readlinkSync(`/proc/self/fd/${fd}`);
  if (opened !== path) throw new SkillboxError('SANDBOX_FAILED', `${path} leads to ${opened} since it was judged.`);
  const { dev, ino, uid, gid } = fstatSync(fd, { bigint: true });
  return { device: dev, inode: ino, uid: Number(uid), gid: Number(gid) };
}

/** The source is what was meant, not what a link in it points to now. */
export function refuseLink(source: string): void {
  let real: string;
  try {
    real = realpathSync.native(source);
  } catch (cause) {
    throw new SkillboxError('NOT_FOUND', `The mount source ${source} is not there.`, { cause });
  }
  if (real !== source) throw new SkillboxError('INTERNAL', `The mount source ${source} is a link to ${real}.`);
}
