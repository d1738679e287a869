import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Where programs put a key: proxies, plain bearers, and what SDKs send in the place of one. */
const CARRIERS = ['proxy-authorization', 'authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

export type Presented = 'ok' | 'missing' | 'wrong' | 'expired';

/**
 * SK-05: the token is checked by its hash, in constant time, at every request. Several headers may carry it, since one client
 * says it to the proxy and another to the API that it believes to talk to.
 */
export function checkToken(
  headers: IncomingHttpHeaders,
  tokenHash: string,
  expiresAt: number,
  now = Date.now(),
): Presented {
  const wanted = Buffer.from(tokenHash, 'hex');
  const given = CARRIERS.flatMap(name => credentialsIn(headers[name]));
  if (given.length === 0) return 'missing';
  let right = false;
  for (const candidate of given) if (isToken(candidate, wanted)) right = true;
  if (!right) return 'wrong';
  return now < expiresAt ? 'ok' : 'expired';
}

/** A header that holds the token itself is for us alone: it must not reach a host. */
export function holdsToken(name: string, value: string, tokenHash: string): boolean {
  if (!(CARRIERS as readonly string[]).includes(name.toLowerCase())) return false;
  const wanted = Buffer.from(tokenHash, 'hex');
  return credentialsIn(value).some(candidate => isToken(candidate, wanted));
}

function isToken(candidate: string, wanted: Buffer): boolean {
  const hash = createHash('sha256').update(candidate).digest();
  return hash.length === wanted.length && timingSafeEqual(hash, wanted);
}

/** The words of a header that could be the token: all of it, what follows `Bearer`, the password of `Basic`. */
function credentialsIn(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  return [value].flat().flatMap(text => {
    const [scheme = '', rest = ''] = text.trim().split(/\s+/, 2);
    if (/^basic$/i.test(scheme)) {
      const pair = Buffer.from(rest, 'base64').toString('latin1');
      const [user = '', ...password] = pair.split(':');
      return [user, password.join(':')];
    }
    return rest === '' ? [scheme] : [rest];
  });
}

export function wordsFor(presented: Presented): string {
  if (presented === 'missing') return 'no token was presented';
  return presented === 'expired' ? 'the token has expired' : 'the token is not of this run';
}
