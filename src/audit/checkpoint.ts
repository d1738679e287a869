import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { isObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { canonicalJson } from './canonical.ts';
import { type Head, hashOf } from './entry.ts';

/** The heads of all chains at one moment, signed. Kept outside, it shows later what has been cut off or rolled back. */
export type Checkpoint = {
  kind: 'skillbox-checkpoint';
  version: 1;
  store: string;
  time: number;
  heads: Head[];
  /** The public key: 32 bytes of Ed25519 in base64. */
  key: string;
  /** Over the canonical JSON of everything else, in base64. */
  signature: string;
};

/** What every Ed25519 key in DER begins with (RFC 8410); the 32 bytes of the key follow. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const RAW_KEY = /^[A-Za-z0-9+/]{43}=$/;
const HEX_64 = /^[0-9a-f]{64}$/;

export function signCheckpoint(store: string, time: number, heads: readonly Head[], key: KeyObject): Checkpoint {
  const unsigned = {
    kind: 'skillbox-checkpoint' as const,
    version: 1 as const,
    store,
    time,
    heads: heads.map(({ chain, seq, hash }) => ({ chain, seq, hash })),
    key: publicKeyOf(key),
  };
  return { ...unsigned, signature: sign(null, Buffer.from(canonicalJson(unsigned)), key).toString('base64') };
}

/** Whether exactly this was signed with exactly this key. The key that the checkpoint itself names proves nothing. */
export function isSignedBy(checkpoint: Checkpoint, key: string): boolean {
  const { signature, ...unsigned } = checkpoint;
  if (unsigned.key !== key) return false;
  return verify(null, Buffer.from(canonicalJson(unsigned)), toKeyObject(key), Buffer.from(signature, 'base64'));
}

/** What the journal says of a checkpoint: the hash of the text that was signed. */
export function digestOf({ signature: _left, ...unsigned }: Checkpoint): string {
  return hashOf(canonicalJson(unsigned));
}

/** The 32 bytes of the public half, in base64. */
export function publicKeyOf(key: KeyObject): string {
  const half = key.type === 'private' ? createPublicKey(key) : key;
  return half.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64');
}

/** Short enough to compare by eye. */
export function keyId(publicKey: string): string {
  return hashOf(publicKey).slice(0, 16);
}

export function requireKey(text: string): string {
  if (RAW_KEY.test(text)) return text;
  throw new SkillboxError('USAGE', 'the key is not the base64 text of an Ed25519 public key', {
    hint: 'Give the "key" that `skillbox audit checkpoint` printed.',
  });
}

function toKeyObject(key: string): KeyObject {
  return createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, Buffer.from(key, 'base64')]),
    format: 'der',
    type: 'spki',
  });
}

/**
 * The checkpoints in a text of unknown origin: one, or one on each line, as they are when each was put behind the last. Whatever
 * is not exactly that is refused.
 */
export function parseCheckpoints(text: string): Checkpoint[] {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const [first, ...more] = lines;
  if (first === undefined || more.length === 0 || !isWhole(first)) return [parseCheckpoint(text)];
  return lines.map((line, at) => parseCheckpoint(line, `checkpoint ${at + 1}`));
}

/** One document may be spread over lines too. */
function isWhole(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function parseCheckpoint(text: string, what = 'this'): Checkpoint {
  const notOne = (why: string, cause?: unknown) =>
    new SkillboxError('USAGE', `${what} is no checkpoint: ${why}`, {
      hint: 'Give what `skillbox audit checkpoint` wrote.',
      cause,
    });
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw notOne('it is not JSON', cause);
  }
  if (!isObject(value) || value.kind !== 'skillbox-checkpoint') throw notOne('it does not say so');
  if (value.version !== 1) throw notOne(`its version is ${JSON.stringify(value.version)}, not 1`);
  const { store, time, heads, key, signature } = value;
  const fine =
    typeof store === 'string' &&
    Number.isSafeInteger(time) &&
    Array.isArray(heads) &&
    heads.every(isHead) &&
    typeof key === 'string' &&
    RAW_KEY.test(key) &&
    typeof signature === 'string' &&
    Object.keys(value).length === 7;
  if (!fine) throw notOne('its fields are not those of a checkpoint');
  return value as unknown as Checkpoint;
}

function isHead(value: JsonValue): boolean {
  if (!isObject(value) || Object.keys(value).length !== 3) return false;
  const { chain, seq, hash } = value;
  return typeof chain === 'string' && Number.isSafeInteger(seq) && typeof hash === 'string' && HEX_64.test(hash);
}
