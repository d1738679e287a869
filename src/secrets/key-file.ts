import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { KEY_BYTES } from './seal.ts';

const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;
const MAX_FILE_BYTES = 1024;

/** 32 bytes in hex or base64; null for anything else. */
export function parseKey(text: string): Buffer | null {
  const plain = text.trim();
  if (HEX.test(plain)) return Buffer.from(plain, 'hex');
  if (!BASE64.test(plain)) return null;
  const key = Buffer.from(plain, 'base64');
  return key.length === KEY_BYTES ? key : null;
}

/**
 * The key in a file; null when there is none. One that others may read is refused: whatever it sealed must count as known.
 * `links`: whether the path may be a link, as orchestrators mount secrets; in our own directory nobody makes one but to trick us.
 */
export function readKeyFile(path: string, links: boolean): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (links ? 0 : constants.O_NOFOLLOW));
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw locked(path, `cannot be opened (${errnoOf(cause) ?? 'unknown'})`, cause);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) throw locked(path, 'holds no key');
    if ((stats.mode & 0o077) !== 0) throw locked(path, 'can be read or written by others');
    const me = process.getuid?.();
    if (me !== undefined && stats.uid !== me && stats.uid !== 0) throw locked(path, `belongs to uid ${stats.uid}`);
    const bytes = readFileSync(fd);
    const key = parseKey(bytes.toString('latin1'));
    bytes.fill(0);
    return (
      key ??
      (() => {
        throw locked(path, 'holds no key of 32 bytes in hex or base64');
      })()
    );
  } finally {
    closeSync(fd);
  }
}

/** Puts the key there whole or not at all; false when there is a file already. */
export function writeKeyFile(path: string, key: Buffer): boolean {
  const aside = `${path}.${randomUUID()}.part`;
  try {
    const fd = openSync(aside, 'wx', 0o600);
    try {
      writeSync(fd, `${key.toString('hex')}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(aside, path);
    syncDirectory(dirname(path));
    return true;
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') return false;
    throw new SkillboxError('UNWRITABLE', `cannot write the master key ${path} (${errnoOf(cause) ?? 'unknown'})`, {
      cause,
    });
  } finally {
    rmSync(aside, { force: true });
  }
}

/** A key must be found after a crash of the machine if anything that it sealed is. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function locked(path: string, why: string, cause?: unknown): SkillboxError {
  return new SkillboxError('VAULT_LOCKED', `the master key ${path} ${why}`, {
    hint: 'It must be a file of yours with mode 0600. If others could read it, run `skillbox secret rekey` afterwards.',
    cause,
  });
}
