import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { SkillboxError } from '../base/index.ts';

const ALGORITHM = 'aes-256-gcm';
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a seal is bound to. A row that is moved, renamed, set back or bound to other hosts does not open. */
export type Label = { tenant: string; name: string; version: number; kind: string; hosts: readonly string[] };
export type Sealed = { wrapped: Buffer; sealed: Buffer };

/** Seals a value under a data key of its own, and that key under the master key. */
export function sealValue(master: Buffer, label: Label, value: Buffer): Sealed {
  const dataKey = randomBytes(KEY_BYTES);
  const wrapping = wrappingKey(master);
  try {
    return {
      wrapped: encrypt(wrapping, aad(label, 'key'), dataKey),
      sealed: encrypt(dataKey, aad(label, 'value'), value),
    };
  } finally {
    dataKey.fill(0);
    wrapping.fill(0);
  }
}

/** The value, or VAULT_DAMAGED. Whoever gets it overwrites it when it is not needed any more. */
export function openValue(master: Buffer, label: Label, { wrapped, sealed }: Sealed): Buffer {
  const dataKey = unwrap(master, label, wrapped);
  try {
    return decrypt(dataKey, aad(label, 'value'), sealed) ?? refuse(label);
  } finally {
    dataKey.fill(0);
  }
}

/** The same data key under another master key; the value stays as it is. */
export function rewrapKey(from: Buffer, to: Buffer, label: Label, wrapped: Buffer): Buffer {
  const dataKey = unwrap(from, label, wrapped);
  const wrapping = wrappingKey(to);
  try {
    return encrypt(wrapping, aad(label, 'key'), dataKey);
  } finally {
    dataKey.fill(0);
    wrapping.fill(0);
  }
}

/** Names a master key without telling anything about it. */
export function keyIdOf(master: Buffer): string {
  return Buffer.from(hkdfSync('sha256', master, '', 'skillbox vault 1: id', 16)).toString('hex');
}

function wrappingKey(master: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', 'skillbox vault 1: wrap', KEY_BYTES));
}

function unwrap(master: Buffer, label: Label, wrapped: Buffer): Buffer {
  const wrapping = wrappingKey(master);
  try {
    const dataKey = decrypt(wrapping, aad(label, 'key'), wrapped);
    return dataKey?.length === KEY_BYTES ? dataKey : refuse(label);
  } finally {
    wrapping.fill(0);
  }
}

/** One text for each label: JSON quotes what could be mistaken for a border. */
function aad({ tenant, name, version, kind, hosts }: Label, part: 'key' | 'value'): Buffer {
  return Buffer.from(JSON.stringify(['skillbox vault 1', part, tenant, name, version, kind, hosts]));
}

/** Nonce, tag and ciphertext in one. A random nonce does: a data key seals once, a wrapping key a few thousand times. */
function encrypt(key: Buffer, bound: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

function decrypt(key: Buffer, bound: Buffer, box: Buffer): Buffer | null {
  if (box.length < NONCE_BYTES + TAG_BYTES) return null;
  const nonce = box.subarray(0, NONCE_BYTES);
  const tag = box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const cipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound).setAuthTag(tag);
  const body = cipher.update(box.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([body, cipher.final()]);
  } catch {
    return null; // the tag does not fit: which of key, label or bytes is wrong cannot be told
  } finally {
    body.fill(0);
  }
}

function refuse({ name }: Label): never {
  throw new SkillboxError('VAULT_DAMAGED', `the stored secret ${name} was changed by something else than Skillbox`);
}
