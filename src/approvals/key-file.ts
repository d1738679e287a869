import { createHash } from 'node:crypto';
import { linkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureOwnKey, errnoOf, readOwnKey, SkillboxError } from '../base/index.ts';

const WORDS = {
  what: 'the key of the approvals',
  hint: 'Give it back its owner and mode 0600, or begin anew with `skillbox approve reset`.',
};

/** Each tenant has a key of its own, so that no answer of one vouches for another's run. A name may hold anything. */
export function keyPathOf(dataDirectory: string, tenant: string | null): string {
  if (tenant === null) return join(dataDirectory, 'approvals.key');
  return join(dataDirectory, 'approvals', `${createHash('sha256').update(tenant).digest('hex')}.key`);
}

/** null when there is none yet; throws UNREADABLE for one that is not ours alone, or is no key. */
export function readKey(path: string): Buffer | null {
  return readOwnKey(path, WORDS);
}

/** Where a key waits until the first answer that it vouches for is written: on a full disk that may be never. */
export function newKeyPath(path: string): string {
  return `${path}.new`;
}

/** A new key, made at first use. */
export function ensureNewKey(keyPath: string): Buffer {
  return ensureOwnKey(newKeyPath(keyPath), WORDS);
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
    if (code !== 'EEXIST') throw new SkillboxError('UNWRITABLE', `cannot write ${WORDS.what}, ${path}`, { cause });
  }
  try {
    unlinkSync(made);
  } catch {
    // Another process was faster.
  }
}
