import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';

const KEY_BYTES = 32;
const HEX = /^[0-9a-f]{64}\n$/;

/** Each tenant has a key of its own, so that no answer of one vouches for another's run. A name may hold anything. */
export function keyPathOf(dataDirectory: string, tenant: string | null): string {
  if (tenant === null) return join(dataDirectory, 'approvals.key');
  return join(dataDirectory, 'approvals', `${createHash('sha256').update(tenant).digest('hex')}.key`);
}

/** null when there is none yet; throws UNREADABLE for one that is not ours alone, or is no key. */
export function readKey(path: string): Buffer | null {
  let fd: number;
  try {
    // A link put in its place would let somebody else choose the key.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw unreadable(path, `it cannot be opened (${errnoOf(cause)})`, cause);
  }
  try {
    const { mode, uid, size } = fstatSync(fd);
    if ((mode & 0o077) !== 0) throw unreadable(path, 'others may read or write it');
    if (process.getuid !== undefined && uid !== process.getuid()) throw unreadable(path, 'it belongs to another user');
    const text = size > KEY_BYTES * 4 ? '' : readFileSync(fd, 'latin1');
    if (!HEX.test(text)) throw unreadable(path, 'it holds no key');
    return Buffer.from(text.trim(), 'hex');
  } finally {
    closeSync(fd);
  }
}

/** Where a key waits until the first answer that it vouches for is written: on a full disk that may be never. */
export function newKeyPath(path: string): string {
  return `${path}.new`;
}

/** A new key, made at first use. It appears whole or not at all, and of two processes that make it one wins. */
export function ensureNewKey(keyPath: string): Buffer {
  const path = newKeyPath(keyPath);
  const there = readKey(path);
  if (there !== null) return there;
  const aside = `${path}.${randomUUID()}.part`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(aside, 'wx', 0o600);
    try {
      writeSync(fd, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(aside, path);
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') {
      throw new SkillboxError('UNWRITABLE', `cannot write the key of the approvals, ${path}`, { cause });
    }
  } finally {
    removeQuietly(aside);
  }
  const made = readKey(path);
  if (made === null) throw unreadable(path, 'it vanished');
  return made;
}

/**
 * Something was written with it: from now on a key without a seal means that somebody took the seal away. A key that is there
 * already stays: a new one beside it is of a process that came too late, and vouches for nothing.
 */
export function settleKey(path: string): void {
  const made = newKeyPath(path);
  try {
    linkSync(made, path);
  } catch (cause) {
    const code = errnoOf(cause);
    if (code === 'ENOENT') return; // settled long ago
    if (code !== 'EEXIST') {
      throw new SkillboxError('UNWRITABLE', `cannot write the key of the approvals, ${path}`, { cause });
    }
  }
  removeQuietly(made);
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never made, and the fault that kept it from being made is the one to tell; or another process was faster.
  }
}

function unreadable(path: string, why: string, cause?: unknown): SkillboxError {
  return new SkillboxError('UNREADABLE', `the key of the approvals, ${path}: ${why}`, {
    hint: 'Give it back its owner and mode 0600, or begin anew with `skillbox approve reset`.',
    cause,
  });
}
