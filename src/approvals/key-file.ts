import { createHash } from 'node:crypto';
import { linkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureOwnKey, errnoOf, readOwnKey, SkillboxError } from '../base/index.ts';

const WORDS = {
  what: 'the key of the approvals',
  hint: 'Give it back its owner and mode 0600, or begin anew with `skillbox approve reset`.',
};

/** The key that vouches for the answers of one tenant, and where it stands in its life. */
export type AnswerKey = {
  /** null when nothing was ever vouched for with it, as far as that can be told. */
  settled(): Buffer | null;
  /** The one that there is, also when it is not settled yet. */
  there(): Buffer | null;
  /** The same, made if need be. */
  ensure(): Buffer;
  /** Something was written with it. */
  settle(): void;
  forget(): void;
};

/** A file of ours beside the store. */
export function keyInFile(path: string): AnswerKey {
  return {
    settled: () => readKey(path),
    there: () => readKey(newKeyPath(path)) ?? readKey(path),
    ensure: () => ensureNewKey(path),
    settle: () => settleKey(path),
    forget() {
      for (const each of [newKeyPath(path), path]) forgetKey(each);
    },
  };
}

/**
 * One for all machines that share a store, made of the operator's key: nothing of it is kept. It is there always, so that it
 * does not tell whether something was vouched for: whoever can write to the store can make it forget every answer.
 */
export function derivedKey(key: () => Buffer): AnswerKey {
  return { settled: () => null, there: key, ensure: key, settle: () => undefined, forget: () => undefined };
}

/** Each tenant has a key of its own, so that no answer of one vouches for another's run. A name may hold anything. */
export function keyPathOf(dataDirectory: string, tenant: string | null): string {
  if (tenant === null) return join(dataDirectory, 'approvals.key');
  return join(dataDirectory, 'approvals', `${createHash('sha256').update(tenant).digest('hex')}.key`);
}

/** null when there is none yet; throws UNREADABLE for one that is not ours alone, or is no key. */
function readKey(path: string): Buffer | null {
  return readOwnKey(path, WORDS);
}

/** Where a key waits until the first answer that it vouches for is written: on a full disk that may be never. */
function newKeyPath(path: string): string {
  return `${path}.new`;
}

/** A new key, made at first use. */
function ensureNewKey(keyPath: string): Buffer {
  return ensureOwnKey(newKeyPath(keyPath), WORDS);
}

/**
 * Something was written with it: from now on a key without a seal means that somebody took the seal away. A key that is there
 * already stays: a new one beside it is of a process that came too late, and vouches for nothing.
 */
function settleKey(path: string): void {
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

function forgetKey(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return;
    throw new SkillboxError('UNWRITABLE', `cannot remove ${path}`, { cause });
  }
}
