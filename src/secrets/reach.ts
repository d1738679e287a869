import { isIP } from 'node:net';
import { parseAuthority, reachOf } from '../egress/index.ts';

/** Names that are set aside for what lies inside: no public DNS knows one. */
const INSIDE = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/** One that no setting opens, such as link-local: a pin can lead what is meant for it elsewhere, and never there. */
export function isNeverReached(text: string): boolean {
  const place = parseAuthority(text.replace('http://', ''), 443);
  return !('refused' in place) && isIP(place.host) !== 0 && reachOf(place.host, []) === 'never';
}

export type Place = { host: string; port: number };

/**
 * Of hosts that a custom secret is bound to, those that the broker refuses: private as they are written, and not among the places that
 * the operator opened. Nothing is resolved, so a name that DNS leads inside is not told. `near`: as in `reachOf`.
 */
export function refusedHosts(hosts: readonly string[], opened: readonly Place[], near?: readonly string[]): string[] {
  return hosts.filter(text => {
    const isPlain = text.startsWith('http://');
    const place = parseAuthority(text.replace('http://', ''), isPlain ? 80 : 443);
    if ('refused' in place || opened.some(({ host, port }) => host === place.host && port === place.port)) return false;
    return isIP(place.host) === 0 ? INSIDE.test(place.host) : reachOf(place.host, near) !== 'public';
  });
}
