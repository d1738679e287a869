import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isId, newId } from '../base/index.ts';

/** An API key as its holder has it: `sbx_ID_SECRET`, the secret 256 random bits and eight digits to tell a slip by. */
export type KeyText = { id: string; secret: string };

const PREFIX = 'sbx_';
const FORM = /^sbx_([0-9a-z]{26})_([A-Za-z0-9_-]{43})([0-9a-f]{8})$/;

export function newKeyText(nowMs: number): { key: KeyText; text: string } {
  const key = { id: newId(nowMs), secret: newSecret() };
  return { key, text: renderKey(key) };
}

export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function renderKey({ id, secret }: KeyText): string {
  return `${PREFIX}${id}_${secret}${slipOf(id, secret)}`;
}

export function looksLikeKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** null when it is no key, or one with a slip in it: no store is asked about it. */
export function parseKey(text: string): KeyText | null {
  const [, id = '', secret = '', slip = ''] = FORM.exec(text) ?? [];
  return isId(id) && slip === slipOf(id, secret) ? { id, secret } : null;
}

function slipOf(id: string, secret: string): string {
  return crc32(`${id}_${secret}`).toString(16).padStart(8, '0');
}

/** What is kept of a secret. It is chance all through, so nothing slower is needed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Takes equally long whatever the two are. */
export function isHashOf(secret: string, kept: string): boolean {
  const given = Buffer.from(hashSecret(secret));
  const expected = Buffer.from(kept);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
