import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';

/** The key that signs checkpoints; null when none was made yet. One that others can read is refused: it proves nothing. */
export function readKey(path: string): KeyObject | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    if ((fstatSync(file).mode & 0o077) !== 0)
      throw new SkillboxError('UNREADABLE', `the key ${path} can be read by others`, {
        hint: 'Treat it as known: remove it, so that a new one is made, and take a new checkpoint.',
      });
    const key = createPrivateKey(readFileSync(file));
    if (key.asymmetricKeyType === 'ed25519') return key;
    throw new SkillboxError('UNREADABLE', `${path} is not an Ed25519 key`);
  } finally {
    closeSync(file);
  }
}

/** Makes the key whole or not at all; when another process was faster, theirs is the key. */
export function makeKey(path: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.${randomUUID()}.part`;
  writeFileSync(part, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(part, path);
    return privateKey;
  } catch (error) {
    const theirs = errnoOf(error) === 'EEXIST' ? readKey(path) : null;
    if (theirs === null) throw error;
    return theirs;
  } finally {
    rmSync(part, { force: true });
  }
}
