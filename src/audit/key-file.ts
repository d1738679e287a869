import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { readPrivateFile, SkillboxError, writePrivateFile } from '../base/index.ts';

/** The key that signs checkpoints; null when none was made yet. One that others can read is refused: it proves nothing. */
export function readKey(path: string): KeyObject | null {
  const refuse = (why: string, cause?: unknown) =>
    new SkillboxError('UNREADABLE', `the key ${path} ${why}`, {
      hint: 'Treat it as known: remove it, so that a new one is made, and take a new checkpoint.',
      cause,
    });
  const pem = readPrivateFile(path, { links: false, refuse });
  if (pem === null) return null;
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // said below: what OpenSSL calls it helps nobody
  }
  throw new SkillboxError('UNREADABLE', `${path} holds no Ed25519 key`, {
    hint: 'Restore it from a backup; or remove it, so that a new one is made, and take a new checkpoint.',
  });
}

/** Makes the key whole or not at all; when another process was faster, theirs is the key. */
export function makeKey(path: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ed25519');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (writePrivateFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())) return privateKey;
  const theirs = readKey(path);
  if (theirs === null) throw new SkillboxError('UNREADABLE', `the key ${path} vanished`);
  return theirs;
}
