import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Brief } from './brief.ts';

/** Where programs put a key: proxies, plain bearers, and what SDKs send in the place of one. */
const CARRIERS = ['proxy-authorization', 'authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;
const CARRIER_NAMES: ReadonlySet<string> = new Set(CARRIERS);

export type Presented = 'ok' | 'missing' | 'wrong' | 'expired';

/** SK-05: the token of a run is checked by its hash, in constant time, at every request. */
export class TokenCheck {
  readonly #hash: Buffer;
  readonly #expiresAt: number;
  /** The header that carried it, by connection. */
  readonly #shown = new WeakMap<object, string | string[]>();

  constructor({ tokenHash, expiresAt }: Pick<Brief, 'tokenHash' | 'expiresAt'>) {
    this.#hash = Buffer.from(tokenHash, 'hex');
    this.#expiresAt = expiresAt;
  }

  /**
   * Several headers may carry it, since one client says it to the proxy and another to the API that it believes to talk to.
   * Who has shown it on this connection learns nothing from a comparison that takes as long as it takes.
   */
  presented(headers: IncomingHttpHeaders, connection: object): Presented {
    const shown = this.#shown.get(connection);
    let [found, right] = [false, false];
    for (const name of CARRIERS) {
      const value = headers[name];
      if (value === undefined) continue;
      found = true;
      if (value === shown) right = true;
      else if (this.#isIn([value].flat())) {
        right = true;
        this.#shown.set(connection, value);
      }
    }
    if (!found) return 'missing';
    return right ? this.now() : 'wrong';
  }

  /** For whoever has shown it already. */
  now(): 'ok' | 'expired' {
    return Date.now() < this.#expiresAt ? 'ok' : 'expired';
  }

  /** A header that holds the token itself is for us alone: it must not reach a host. */
  isIn(name: string, value: string): boolean {
    return CARRIER_NAMES.has(name.toLowerCase()) && this.#isIn([value]);
  }

  #isIn(values: readonly string[]): boolean {
    let isIn = false;
    for (const candidate of values.flatMap(credentialsIn)) {
      const digest = hash('sha256', candidate, 'buffer');
      if (digest.length === this.#hash.length && timingSafeEqual(digest, this.#hash)) isIn = true;
    }
    return isIn;
  }
}

/** The words of a header that could be the token: all of it, what follows `Bearer`, the password of `Basic`. */
function credentialsIn(text: string): string[] {
  const [scheme = '', rest = ''] = text.trim().split(/\s+/, 2);
  if (/^basic$/i.test(scheme)) {
    const pair = Buffer.from(rest, 'base64').toString('latin1');
    const [user = '', ...password] = pair.split(':');
    return [user, password.join(':')];
  }
  return rest === '' ? [scheme] : [rest];
}

export function wordsFor(presented: Presented): string {
  if (presented === 'missing') return 'no token was presented';
  return presented === 'expired' ? 'the token has expired' : 'the token is not of this run';
}
