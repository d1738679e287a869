import { errnoOf, readPrivateFile, SkillboxError, writePrivateFile } from '../base/index.ts';
import { KEY_BYTES } from './seal.ts';

const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** 32 bytes in hex or base64; null for anything else. */
export function parseKey(text: string): Buffer | null {
  const plain = text.trim();
  if (HEX.test(plain)) return Buffer.from(plain, 'hex');
  if (!BASE64.test(plain)) return null;
  const key = Buffer.from(plain, 'base64');
  return key.length === KEY_BYTES ? key : null;
}

/** The key in a file; null when there is none. `links`: whether it may be a link, as orchestrators mount secrets. */
export function readKeyFile(path: string, links: boolean): Buffer | null {
  const bytes = readPrivateFile(path, { links, refuse: (why, cause) => locked(path, why, cause) });
  if (bytes === null) return null;
  const key = parseKey(bytes.toString('latin1'));
  bytes.fill(0);
  if (key === null) throw noKey(path);
  return key;
}

/** Puts the key there whole or not at all; false when there is a file already. */
export function writeKeyFile(path: string, key: Buffer): boolean {
  try {
    return writePrivateFile(path, `${key.toString('hex')}\n`);
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot write the master key ${path} (${errnoOf(cause) ?? 'unknown'})`, {
      cause,
    });
  }
}

function noKey(path: string): SkillboxError {
  return new SkillboxError('VAULT_LOCKED', `the master key ${path} holds no key of 32 bytes in hex or base64`, {
    hint: 'Bring back the key that was there. Without it nobody can read the secrets: remove all of them and this file, then set them anew. A file of your own is made by (umask 077; openssl rand -base64 32 > FILE).',
  });
}

function locked(path: string, why: string, cause?: unknown): SkillboxError {
  return new SkillboxError('VAULT_LOCKED', `the master key ${path} ${why}`, {
    hint: `It must be a file of yours that nobody else may read: chmod 600 ${path}. If others could read it, run \`skillbox secret rekey\` afterwards.`,
    cause,
  });
}
