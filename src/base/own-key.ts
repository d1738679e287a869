import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError } from './errors.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

const KEY_BYTES = 32;
const HEX = /^[0-9a-f]{64}\n$/;

/** How a key of ours is called where it is spoken of, and what to do when it cannot be used. */
export type KeyWords = { what: string; hint: string };

/** null when there is none yet; throws UNREADABLE for one that is not ours alone, or is no key. */
export function readOwnKey(path: string, words: KeyWords): Buffer | null {
  const refuse = (why: string, cause?: unknown) => unreadable(path, words, why, cause);
  const bytes = readPrivateFile(path, { links: false, refuse });
  if (bytes === null) return null;
  const text = bytes.toString('latin1');
  if (!HEX.test(text)) throw refuse('holds no key');
  return Buffer.from(text.trim(), 'hex');
}

/** Made at first use. It appears whole or not at all, and of two processes that make it one wins. */
export function ensureOwnKey(path: string, words: KeyWords): Buffer {
  const there = readOwnKey(path, words);
  if (there !== null) return there;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writePrivateFile(path, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot write ${words.what}, ${path} (${errnoOf(cause) ?? 'unknown'})`, {
      cause,
    });
  }
  // Read again in any case: when another process was faster, theirs is the key.
  const made = readOwnKey(path, words);
  if (made === null) throw unreadable(path, words, 'vanished');
  return made;
}

function unreadable(path: string, { what, hint }: KeyWords, why: string, cause?: unknown): SkillboxError {
  return new SkillboxError('UNREADABLE', `${what}, ${path}, ${why}`, { hint, cause });
}
