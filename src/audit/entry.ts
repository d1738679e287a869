import { hash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { canonicalJson } from './canonical.ts';
import type { Actor, AuditEvent } from './event.ts';

/** An event in its place. Everything but `hash` is under the hash, so nothing of it can change unseen. */
export type Entry = {
  /** The store's id, and the tenant's name after a slash where there is one. */
  chain: string;
  /** From 1, without a gap. */
  seq: number;
  /** Milliseconds since 1970, by the writer's clock. */
  time: number;
  type: string;
  actor: Actor;
  tenant: string | null;
  subject: string | null;
  data: JsonObject;
  /** The hash of the entry before it in its chain; 64 zeros for the first. */
  prev: string;
  hash: string;
};

/** The last entry of a chain, as far as a new one needs it. */
export type Head = { chain: string; seq: number; hash: string };

/** An entry as it is kept: the text that was hashed, byte for byte, and the hash. */
export type Sealed = { chain: string; seq: number; body: string; hash: string };

export const FIRST_PREV = '0'.repeat(64);

/** Far more than any event has; readers may rely on it. */
export const MAX_BODY = 4 * 1024 ** 2;

/** No store has a slash in its id, so two tenants never share a chain. */
export function chainName(store: string, tenant: string | null): string {
  return tenant === null ? store : `${store}/${tenant.toWellFormed()}`;
}

/** The next entry after the head. */
export function seal(event: AuditEvent, head: Head, time: number): Sealed {
  const { type, actor, tenant, subject, data } = event;
  const { id, channel } = actor;
  const seq = head.seq + 1;
  const body = canonicalJson({
    chain: head.chain,
    seq,
    time,
    type,
    actor: { id, channel },
    tenant,
    subject,
    data,
    prev: head.hash,
  });
  if (body.length > MAX_BODY)
    throw new SkillboxError('INTERNAL', `an audit entry of ${body.length} characters is too large (${type})`);
  return { chain: head.chain, seq, body, hash: hashOf(body) };
}

/** SHA-256 over the canonical text, as hex. */
export function hashOf(body: string): string {
  return hash('sha256', body, 'hex');
}

/** One line of an export or a sealed file: the hashed text with the hash as its last member. */
export function toLine({ body, hash: sum }: Pick<Sealed, 'body' | 'hash'>): string {
  return `${body.slice(0, -1)},"hash":"${sum}"}`;
}

const LINE_END = /,"hash":"([0-9a-f]{64})"\}$/;

/** The text and hash of a line; null for what toLine did not write. */
export function fromLine(line: string): { body: string; hash: string } | null {
  const sum = LINE_END.exec(line)?.[1];
  return sum === undefined ? null : { body: `${line.slice(0, -(',"hash":""}'.length + 64))}}`, hash: sum };
}

/** For readers: the entry of a text that was verified, or is about to be shown. Throws for a text that is no entry. */
export function openEntry({ body, hash: sum }: Pick<Sealed, 'body' | 'hash'>): Entry {
  const value = JSON.parse(body) as JsonValue;
  if (!isEntry(value)) throw new TypeError('no entry');
  const { chain, seq, time, type, actor, tenant, subject, data, prev } = value;
  return { chain, seq, time, type, actor, tenant, subject, data, prev, hash: sum };
}

/** Beyond it no date is: whoever shows one would fail. */
const MAX_TIME = 8.64e15;

function isEntry(value: JsonValue): value is Omit<Entry, 'hash'> {
  if (!isObject(value)) return false;
  const { chain, seq, time, type, actor, tenant, subject, data, prev } = value;
  const isTextOrNull = (each: JsonValue | undefined) => each === null || typeof each === 'string';
  return (
    [chain, type, prev].every(each => typeof each === 'string') &&
    Number.isSafeInteger(seq) &&
    Number.isSafeInteger(time) &&
    Math.abs(Number(time)) <= MAX_TIME &&
    isObject(actor) &&
    typeof actor.id === 'string' &&
    typeof actor.channel === 'string' &&
    isTextOrNull(tenant) &&
    isTextOrNull(subject) &&
    isObject(data)
  );
}
