import { isIPv4, isIPv6 } from 'node:net';
import { reachOf } from './address.ts';

/** One place that a run may reach. Hosts are compared exactly; there are no patterns. */
export type EgressRule = {
  /** Lower-case name or address, without brackets. */
  host: string;
  port: number;
  /** The operator's own configuration names this host: it may stand on this machine or in a private network. */
  private: boolean;
};

export type Target = { host: string; port: number };
export type Refusal = { refused: string };

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_NAME = 253;

/** `host:port` exactly as one may write it; every other spelling is refused, so that no two parsers can differ. */
export function parseAuthority(text: string, defaultPort: number | null): Target | Refusal {
  if (!/^[\x21-\x7e]+$/.test(text)) return { refused: 'the host holds a control, space or non-ASCII character' };
  if (/[@/\\?#%]/.test(text)) return { refused: 'the host holds a character that no host has' };
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return { refused: 'the host is no host:port' };
  const [, bracketed, plain = '', digits] = match;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === null || port < 1 || port > 65_535) return { refused: 'the port is missing or out of range' };
  const host = (bracketed ?? plain).toLowerCase();
  const fault = bracketed === undefined ? faultOfName(host) : faultOfIpv6(host);
  return fault === null ? { host, port } : { refused: fault };
}

function faultOfIpv6(host: string): string | null {
  if (!isIPv6(host)) return 'the address is no IPv6 address';
  return host.includes('.') || host.startsWith('::ffff:') ? 'an IPv4 address inside an IPv6 one' : null;
}

function faultOfName(host: string): string | null {
  if (isIPv4(host)) return null;
  if (host.endsWith('.')) return 'the host ends with a dot';
  const labels = host.split('.');
  if (host.length > MAX_NAME || !labels.every(label => LABEL.test(label))) return 'the host is no DNS name';
  // 2130706433, 0x7f.1, 127.1, 0177.0.0.1: the C library reads each as an address.
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return 'an IPv4 address in an odd spelling';
  return null;
}

/** `http://host[:port]/path` of a plain request. The path goes on as it came. */
export function parseAbsolute(url: string): (Target & { path: string }) | Refusal {
  const match = /^http:\/\/([^/?#]*)(\/[\x21-\x7e]*)?$/i.exec(url);
  if (match === null || match[2]?.includes('#')) return { refused: 'the request names no absolute http URL' };
  const target = parseAuthority(match[1] ?? '', 80);
  return 'refused' in target ? target : { ...target, path: match[2] ?? '/' };
}

/** Places by name, or any public address: whoever grants that grants the web, not every service that listens somewhere. */
export type EgressRules = readonly EgressRule[] | 'public';
export const PUBLIC_PORTS: readonly number[] = [80, 443];

/** An empty list allows nothing. */
export function findRule(rules: EgressRules, target: Target): EgressRule | Refusal {
  if (rules === 'public') {
    if (PUBLIC_PORTS.includes(target.port)) return { ...target, private: false };
    return { refused: `port ${target.port} is not one of ${PUBLIC_PORTS.join(' and ')}` };
  }
  const rule = rules.find(({ host, port }) => host === target.host && port === target.port);
  return rule ?? { refused: `${target.host}:${target.port} is not on the list` };
}

/** Of what DNS answered, the addresses that may be dialled for this rule. */
export function vetAddresses(rule: EgressRule, addresses: readonly string[]): string[] | Refusal {
  const good = addresses.filter(address => {
    const reach = reachOf(address);
    return reach === 'public' || (reach === 'private' && rule.private);
  });
  return good.length > 0 ? good : { refused: `${rule.host} has no address that may be reached` };
}
