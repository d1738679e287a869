import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError, syncDirectory } from '../base/index.ts';
import { parseKey, readKeyFile, writeKeyFile } from './key-file.ts';
import { KEY_BYTES, keyIdOf } from './seal.ts';

/** `own`: a file of ours that is made at first use. The others are the operator's: Skillbox only reads them. */
export type KeySource =
  | { kind: 'own'; path: string }
  | { kind: 'file'; path: string }
  | { kind: 'text'; text: string; from: string };

/** The master key for a moment: whoever opens it closes it, and then its bytes are gone. */
export type MasterKey = { id: string; bytes: Buffer; close(): void };

/**
 * The master key that the store's rows are under; `wanted` is its id, null before the first secret. Only then a key may be
 * made: a new one in place of a lost one would only hide that everything is lost.
 */
export function openMasterKey(source: KeySource, wanted: string | null): MasterKey {
  const bytes = source.kind === 'own' ? openOwn(source.path, wanted) : readForeign(source);
  const key = hold(bytes);
  if (wanted === null || key.id === wanted) return key;
  key.close();
  throw new SkillboxError('VAULT_LOCKED', `the secrets are under another master key than ${describe(source)}`, {
    hint: 'Use the key that they were stored with. Without it they cannot be read by anyone.',
    details: { wanted, found: key.id },
  });
}

function hold(bytes: Buffer): MasterKey {
  return { id: keyIdOf(bytes), bytes, close: () => void bytes.fill(0) };
}

function readForeign(source: Exclude<KeySource, { kind: 'own' }>): Buffer {
  const key = source.kind === 'text' ? parseKey(source.text) : readKeyFile(source.path, true);
  if (key !== null) return key;
  const fault = source.kind === 'text' ? `${source.from} holds no key` : `the master key ${source.path} is not there`;
  throw new SkillboxError('VAULT_LOCKED', fault, {
    hint: 'A key is 32 random bytes in hex or base64; `openssl rand -base64 32` makes one.',
  });
}

function openOwn(path: string, wanted: string | null): Buffer {
  if (wanted !== null) finishRekey(path, wanted);
  const there = readKeyFile(path, false);
  if (there !== null) return there;
  if (wanted !== null) {
    throw new SkillboxError('VAULT_LOCKED', `the master key ${path} is gone`, {
      hint: 'Bring it back from where you keep it. Without it the secrets cannot be read by anyone; set them anew.',
    });
  }
  const made = randomBytes(KEY_BYTES);
  if (writeKeyFile(path, made)) return made;
  made.fill(0);
  // Another process was faster; theirs is the key.
  return readKeyFile(path, false) ?? openOwn(path, wanted);
}

/** A key that is about to take the place of our own. It waits beside it under its own name until the rows are under it. */
export function prepareOwn(path: string): MasterKey {
  const key = hold(randomBytes(KEY_BYTES));
  if (!writeKeyFile(nextPath(path, key.id), key.bytes)) throw new SkillboxError('INTERNAL', 'two keys have one id');
  return key;
}

/**
 * The rows are under the key that waits: it takes its place. Called after the rows were changed, and by whoever finds that
 * the process that changed them died before it could. The name holds the id, so that a slow process never puts an older key
 * over a newer one: once moved, its file is not there any more.
 */
export function finishRekey(path: string, id: string): void {
  const next = nextPath(path, id);
  if (!existsSync(next)) return;
  try {
    renameSync(next, path);
    syncDirectory(dirname(path));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error; // somebody else was faster
  }
}

/** The rows stayed under the old key: the one that waited was never used. */
export function giveUpRekey(path: string, id: string): void {
  rmSync(nextPath(path, id), { force: true });
}

function nextPath(path: string, id: string): string {
  return `${path}.${id}.next`;
}

/** The operator's key in a file, which is made when it is not there. */
export function openKeyFile(path: string): MasterKey {
  const there = readKeyFile(path, true);
  if (there !== null) return hold(there);
  const made = randomBytes(KEY_BYTES);
  if (writeKeyFile(path, made)) return hold(made);
  made.fill(0);
  return openKeyFile(path);
}

function describe(source: KeySource): string {
  return source.kind === 'text' ? source.from : source.path;
}
