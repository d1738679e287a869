import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
/** Recognised by people and by scanners of leaked keys. */
const PREFIX = 'sbt_';
const TOKEN = /^sbt_[A-Za-z0-9_-]{43}$/;

/** 256 random bits. Whoever makes one keeps the hash and hands out the token. */
export function newToken(): { token: string; hash: string } {
  const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  return { token, hash: hashToken(token) };
}

/** SHA-256 does: there is nothing to guess in a random key of this length. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** In constant time, whatever is presented. */
export function matchesToken(presented: string, hash: string): boolean {
  const given = createHash('sha256').update(presented).digest();
  const wanted = Buffer.from(hash, 'hex');
  return given.length === wanted.length && timingSafeEqual(given, wanted) && TOKEN.test(presented);
}

/** What is known of a token that was handed out; never the token. */
export type TokenRecord = { hash: string; run: string; digest: string; expiresAt: number };

export type TokenState = 'valid' | 'unknown' | 'expired' | 'other-run';

/**
 * SK-05: the tokens of the runs that this process started. A token is good for its run and its skill alone, and dies with
 * the run, or when it is revoked, or at its time.
 */
export class Tokens {
  readonly #byRun = new Map<string, TokenRecord>();

  issue(run: string, digest: string, expiresAt: number): { token: string; record: TokenRecord } {
    const { token, hash } = newToken();
    const record = { hash, run, digest, expiresAt };
    this.#byRun.set(run, record);
    return { token, record };
  }

  check(presented: string, run: string, digest: string, now: number): TokenState {
    const record = this.#byRun.get(run);
    if (record === undefined || !matchesToken(presented, record.hash)) return 'unknown';
    if (record.digest !== digest) return 'other-run';
    return now < record.expiresAt ? 'valid' : 'expired';
  }

  /** False when the run has none. */
  revoke(run: string): boolean {
    return this.#byRun.delete(run);
  }
}
