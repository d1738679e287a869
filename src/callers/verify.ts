import { SkillboxError } from '../base/index.ts';
import type { KeyRow, KeyRows, TenantRow, TenantRows } from '../store/index.ts';
import { type Identity, toScopes } from './identity.ts';
import { isHashOf, looksLikeKey, parseKey } from './key-text.ts';
import { type Line, lineOf } from './line.ts';
import type { Oidc } from './oidc.ts';

export type VerifierParts = {
  keys: KeyRows;
  tenants: TenantRows;
  /** null: API keys only. */
  oidc: Oidc | null;
  /** Told when the time of last use could not be written; the call itself goes on. */
  untouched(error: unknown): void;
};

/** How long somebody who was let in is let in again unasked: so long a revocation in another process may go unnoticed. */
const REMEMBER_MS = 3000;
const MAX_REMEMBERED = 10_000;
/** The time of last use is for people to look at: one write a minute tells it well enough. */
const TOUCH_MS = 60_000;

type Remembered = { identity: Identity; until: number };

/** Says who holds a token: an API key, or a person's. */
export class Verifier {
  readonly #parts: VerifierParts;
  /** By the token itself: a request cannot be answered faster than by finding its caller under what it sent. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #touched = new Map<string, number>();
  #generation = 0;

  constructor(parts: VerifierParts) {
    this.#parts = parts;
  }

  /** Nobody is let in unasked any more. */
  forget(): void {
    this.#generation += 1;
    this.#remembered.clear();
  }

  /** Somebody who was let in a moment ago; null says nothing about the token. */
  recall(token: string): Identity | null {
    const kept = this.#remembered.get(token);
    if (kept === undefined) return null;
    if (kept.until > Date.now()) return kept.identity;
    this.#remembered.delete(token);
    return null;
  }

  async verify(token: string): Promise<Identity> {
    const known = this.recall(token);
    if (known !== null) return known;
    // Threat: a key that is revoked while its row is being read would be remembered from before.
    const generation = this.#generation;
    const { identity, until } = looksLikeKey(token) ? await this.#verifyKey(token) : await this.#verifyPerson(token);
    if (generation === this.#generation) this.#remember(token, identity, until);
    return identity;
  }

  async #verifyKey(token: string): Promise<Remembered> {
    const key = parseKey(token);
    const row = key === null ? null : await this.#parts.keys.get(key.id);
    if (key === null || row === null) throw refused('this key is not known');
    const now = Date.now();
    const until = checkKey(row, key.secret, now);
    if (row.derived) checkLine(await lineOf(this.#parts.keys, row.id));
    const tenant = await this.#tenant(row.tenant);
    this.#touch(row, now);
    const { id, expiresAt } = row;
    const identity = {
      tenant: tenant.name,
      id,
      scopes: toScopes(row.scopes),
      expiresAt,
      key: id,
      requestsPerMinute: tenant.quotas.requestsPerMinute,
    };
    return { identity, until };
  }

  async #verifyPerson(token: string): Promise<Remembered> {
    if (this.#parts.oidc === null) throw refused('this key is not known');
    const person = await this.#parts.oidc.verify(token);
    const tenant = await this.#tenant(person.tenant);
    const { requestsPerMinute } = tenant.quotas;
    return { identity: { ...person, key: null, requestsPerMinute }, until: person.expiresAt ?? Date.now() };
  }

  async #tenant(name: string): Promise<TenantRow> {
    const tenant = await this.#parts.tenants.get(name);
    if (tenant === null) throw refused('the tenant of this caller is not known here');
    if (tenant.disabledAt === null) return tenant;
    throw new SkillboxError('FORBIDDEN', `the tenant ${tenant.name} is disabled`, {
      hint: 'Ask the operator of the server.',
    });
  }

  #remember(token: string, identity: Identity, until: number): void {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(token, { identity, until: Math.min(until, Date.now() + REMEMBER_MS) });
  }

  #touch({ id, lastUsedAt }: KeyRow, now: number): void {
    if (now - Math.max(lastUsedAt ?? 0, this.#touched.get(id) ?? 0) < TOUCH_MS) return;
    if (this.#touched.size >= MAX_REMEMBERED) this.#touched.clear();
    this.#touched.set(id, now);
    this.#parts.keys.touch(id, now).catch((error: unknown) => this.#parts.untouched(error));
  }
}

/** Until when it holds, as far as is known now. What is wrong with a key is told only to those who have its secret. */
function checkKey(row: KeyRow, secret: string, now: number): number {
  const previous = row.previous !== null && row.previous.until > now ? row.previous : null;
  const current = isHashOf(secret, row.hash);
  const earlier = isHashOf(secret, previous?.hash ?? '');
  if (!current && !earlier) throw refused('this key is not known');
  if (row.revokedAt !== null) throw refused('this key was revoked');
  if (row.expiresAt !== null && row.expiresAt <= now) throw refused('this key has expired');
  const ends = [row.expiresAt, current ? null : (previous?.until ?? null)];
  return Math.min(...ends.map(end => end ?? Number.POSITIVE_INFINITY));
}

/** What was made with a key ends with it. */
function checkLine({ rows }: Line): void {
  if (rows.some(({ revokedAt }) => revokedAt !== null))
    throw refused('the key that this one was made with was revoked');
}

function refused(message: string): SkillboxError {
  return new SkillboxError('UNAUTHENTICATED', message);
}
