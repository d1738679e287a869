import { randomBytes } from 'node:crypto';
import { linkSync, unlinkSync } from 'node:fs';
import { errnoOf, readPrivateFile, SkillboxError, writePrivateFile } from '../base/index.ts';

const KEY_BYTES = 32;
const HEX = /^[0-9a-f]{64}\n$/;

/** null when there is none yet; throws UNREADABLE for one that is not ours alone, or is no key. */
export function readKey(path: string): Buffer | null {
  const bytes = readPrivateFile(path, { links: false, refuse: (why, cause) => unreadable(path, why, cause) });
  if (bytes === null) return null;
  const text = bytes.toString('latin1');
  if (!HEX.test(text)) throw unreadable(path, 'holds no key');
  return Buffer.from(text.trim(), 'hex');
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
  try {
    writePrivateFile(path, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot write the key of the approvals, ${path}`, { cause });
  }
  const made = readKey(path);
  if (made === null) throw unreadable(path, 'vanished');
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
    // Another process was faster.
  }
}

function unreadable(path: string, why: string, cause?: unknown): SkillboxError {
  return new SkillboxError('UNREADABLE', `the key of the approvals, ${path}, ${why}`, {
    hint: 'Give it back its owner and mode 0600, or begin anew with `skillbox approve reset`.',
    cause,
  });
}
