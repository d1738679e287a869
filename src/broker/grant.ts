import { isIP } from 'node:net';
import { PUBLIC_PORTS, parseAuthority, type Refusal, reachOf } from '../egress/index.ts';
import type { Brief, CustomSecret, Endpoint } from './brief.ts';
import { matchesPattern, type Origin, type Scheme, splitPath, type Target } from './target.ts';

/** What a request may have: the capability that it counts for, a key where there is one, and secrets bound to the host. */
export type Allowance = {
  /** `network` for plain egress. */
  capability: string;
  endpoint: Endpoint | null;
  customs: readonly CustomSecret[];
  /** The operator's own data names this host. */
  private: boolean;
  /** What this host may hold of this run, put into this request or into another one, by whatever capability and port. */
  known: readonly string[];
};

/** One host of a list, as `host`, `host:port` or a whole origin. Without a scheme a secret goes by https only. */
type HostRule = { schemes: readonly Scheme[]; host: string; port: number | null };

const NOTHING: readonly string[] = [];
const PLAIN: readonly Scheme[] = ['https', 'http'];
/** TRACE would send back what was put in; CONNECT is not a request to a host. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export type Judge = {
  /** May anything at this origin be reached? For tunnels, before the request inside is known. */
  reaches(origin: Origin): boolean;
  /** `provider`: the one that the URL named, whose endpoints alone count then; null where it named none. */
  decide(method: string, target: Target, provider: string | null): Allowance | Refusal;
  /** `/api/:provider/*`: the origin whose endpoint takes this request; the first of the provider otherwise. */
  originOf(provider: string, method: string, path: string): Origin | null;
};

/** Deny by default: an empty brief reaches nothing. */
export function createJudge(brief: Brief): Judge {
  const endpoints = brief.endpoints;
  const bound = brief.customs.map(custom => ({ custom, rules: custom.hosts.map(text => parseRule(text, ['https'])) }));
  const hosts = brief.hosts.map(text => parseRule(text, PLAIN));

  const knownAt = new Map<string, Set<string>>();
  const know = (host: string, values: readonly string[]) =>
    knownAt.set(host, new Set([...(knownAt.get(host) ?? []), ...values]));
  for (const { host, auth } of endpoints)
    know(host, [auth.value, ...(auth.form === 'basic' ? [`${auth.user}:${auth.value}`] : [])]);
  for (const { custom, rules } of bound) for (const { host } of rules) know(host, [custom.value]);
  const known = new Map([...knownAt].map(([host, values]) => [host, [...values]]));

  const customsFor = (origin: Origin) =>
    bound.filter(({ rules }) => rules.some(rule => matchesRule(rule, origin))).map(({ custom }) => custom);
  const isPlain = (origin: Origin) =>
    ((brief.public === true && PUBLIC_PORTS.includes(origin.port)) || hosts.some(rule => matchesRule(rule, origin))) &&
    // A name is vetted when it is resolved; an address can be at once.
    (isIP(origin.host) === 0 || reachOf(origin.host) === 'public');

  const findEndpoints = (method: string, target: Target, provider: string | null): Endpoint[] | Refusal => {
    const near = endpoints.filter(each => isAt(each, target) && (provider === null || each.provider === provider));
    if (near.length === 0) return { refused: `${target.host}:${target.port} is not granted` };
    const segments = splitPath(target.path);
    if ('refused' in segments) return segments;
    const fits = near.filter(({ path }) => matchesPattern(segments, path));
    if (fits.length === 0) return { refused: `the path ${target.path} is not granted` };
    const found = fits.filter(({ methods }) => methods.includes(method));
    return found.length === 0 ? { refused: `the method ${method} is not granted` } : found;
  };

  return {
    reaches: origin =>
      endpoints.some(endpoint => isAt(endpoint, origin)) || customsFor(origin).length > 0 || isPlain(origin),
    decide(method, target, provider) {
      if (!METHODS.has(method)) return { refused: `the method ${method} is not passed on` };
      const found = findEndpoints(method, target, provider);
      const customs = customsFor(target);
      const given = { customs, known: known.get(target.host) ?? NOTHING };
      if (!('refused' in found)) {
        const [endpoint] = found;
        // Threat: the key of one provider in a request that was meant for another.
        if (endpoint === undefined || !haveOneKey(found)) return { refused: ambiguous(found, target) };
        return { ...given, capability: endpoint.capability, endpoint, private: endpoint.allowPrivate };
      }
      if (provider !== null) return found;
      const [custom] = customs;
      if (custom !== undefined) return { ...given, capability: `custom/${custom.key}`, endpoint: null, private: false };
      return isPlain(target) ? { ...given, capability: 'network', endpoint: null, private: false } : found;
    },
    originOf(provider, method, path) {
      const own = endpoints.filter(endpoint => endpoint.provider === provider);
      const segments = splitPath(path);
      const fits = 'refused' in segments ? [] : own.filter(endpoint => matchesPattern(segments, endpoint.path));
      return fits.find(({ methods }) => methods.includes(method)) ?? fits[0] ?? own[0] ?? null;
    },
  };
}

function isAt(endpoint: Endpoint, origin: Origin): boolean {
  return endpoint.scheme === origin.scheme && endpoint.host === origin.host && endpoint.port === origin.port;
}

/** A provider has one key; two may have been given the same, in the same form. */
function haveOneKey([first, ...others]: readonly Endpoint[]): boolean {
  return others.every(
    each => each.provider === first?.provider || JSON.stringify(each.auth) === JSON.stringify(first?.auth),
  );
}

function ambiguous(found: readonly Endpoint[], { path }: Target): string {
  const names = [...new Set(found.map(({ capability }) => capability))].join(' and ');
  const ways = [...new Set(found.map(({ provider }) => `$SEKS_BROKER_URL/api/${provider}${path}`))];
  return `${names} fit this request, with different keys; name the provider: ask ${ways.join(' or ')}`;
}

/** What cannot be read matches nothing. */
function parseRule(text: string, schemes: readonly Scheme[]): HostRule {
  const [, scheme, authority = ''] = /^(?:(https?):\/\/)?([^/]+)$/.exec(text.toLowerCase()) ?? [];
  const parsed = parseAuthority(authority, 443);
  if ('refused' in parsed) return { schemes: [], host: '', port: null };
  const port = /:\d+$/.test(authority) && !authority.endsWith(']') ? parsed.port : null;
  return { schemes: scheme === undefined ? schemes : [scheme as Scheme], host: parsed.host, port };
}

function matchesRule({ schemes, host, port }: HostRule, origin: Origin): boolean {
  if (host !== origin.host || !schemes.includes(origin.scheme)) return false;
  return origin.port === (port ?? (origin.scheme === 'https' ? 443 : 80));
}
