import { createHmac, timingSafeEqual } from 'node:crypto';
import { type JsonValue, stableJson } from '../base/index.ts';
import type { Answer, Channel } from '../policy/index.ts';
import type { AnswerRow, SealRow } from '../store/index.ts';
import type { Bound } from './binding.ts';

/** One answer as it was given, with everything that it is bound to. */
export type GivenAnswer = {
  id: string;
  answer: Answer;
  createdAt: number;
  /** null: it stays until it is revoked. */
  expiresAt: number | null;
  revokedAt: number | null;
  /** Who answered, and how the answer reached us. */
  by: string;
  channel: Channel;
  /** The run that asked. */
  runId: string;
  skill: { name: string; version: string | null };
  /** Where the skill lay when it was asked for. */
  place: string;
  bound: Bound;
  binding: string;
  refusal: string;
  origin: string;
  /** "once" only: the call that it was given for. */
  call: string | null;
};

/** What no single row can tell of itself: that another one is missing, or was taken back. */
export type Seal = { version: number; denied: string[]; revoked: string[] };

export function isInForce(given: GivenAnswer, now: number): boolean {
  return given.revokedAt === null && (given.expiresAt === null || given.expiresAt > now);
}

export function toRow(given: GivenAnswer, key: Buffer): AnswerRow {
  const body = stableJson(given as unknown as JsonValue);
  const { id, binding, refusal, origin, createdAt } = given;
  return { id, binding, refusal, origin, createdAt, body, mac: macOf(key, 'answer', id, body) };
}

/** null for a row that was not written with this key, or not under this id, or not for these keys. */
export function fromRow(row: AnswerRow, key: Buffer): GivenAnswer | null {
  if (!fits(row.mac, macOf(key, 'answer', row.id, row.body))) return null;
  const given = JSON.parse(row.body) as GivenAnswer; // ours: the MAC says so
  const same =
    given.id === row.id &&
    given.binding === row.binding &&
    given.refusal === row.refusal &&
    given.origin === row.origin &&
    given.createdAt === row.createdAt;
  return same ? given : null;
}

export function toSealRow(seal: Seal, key: Buffer): SealRow {
  const body = stableJson({ ...seal });
  return { version: seal.version, body, mac: macOf(key, 'seal', String(seal.version), body) };
}

export function fromSealRow(row: SealRow, key: Buffer): Seal | null {
  if (!fits(row.mac, macOf(key, 'seal', String(row.version), row.body))) return null;
  const seal = JSON.parse(row.body) as Seal;
  return seal.version === row.version ? seal : null;
}

function macOf(key: Buffer, kind: string, id: string, body: string): string {
  return createHmac('sha256', key)
    .update(stableJson([kind, id, body]))
    .digest('hex');
}

function fits(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
