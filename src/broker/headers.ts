import { type Refusal, returnHeaders } from '../egress/index.ts';
import type { Auth } from './brief.ts';
import type { Allowance } from './grant.ts';
import type { Placeholders } from './placeholder.ts';
import type { Scrubber } from './scrub.ts';
import { renderAuthority, type Target } from './target.ts';
import { holdsToken } from './token.ts';

/** What a caller might say in the place of the key that is put in. The injected one is the only one that arrives. */
const CREDENTIALS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'x-auth-key',
  'x-auth-email',
  'x-access-token',
  'private-token',
  'job-token',
  'deploy-token',
  'x-subscription-token',
];
/** Some servers let these change the method or the path that was judged. */
const OVERRIDES = [
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-url',
  'x-original-uri',
  'x-rewrite-url',
  'x-forwarded-host',
  'x-forwarded-prefix',
  'forwarded',
];
/** A piece of an answer could hold half a key, which nobody would recognise. */
const PIECES = ['range', 'if-range'];
const OURS = ['host', 'content-length', 'expect', 'proxy-authorization'];

export type Onward = {
  target: Target;
  allowance: Allowance;
  placeholders: Placeholders;
  tokenHash: string;
  /** Of the body; null where it is not known ahead. */
  length: number | null;
  method: string;
};

/** The headers that the host gets, as a flat list. */
export function onwardHeaders(raw: readonly string[], onward: Onward): string[] | Refusal {
  const { target, allowance, placeholders, tokenHash, length } = onward;
  const { endpoint, customs } = allowance;
  const guarded = endpoint !== null || customs.length > 0;
  const drop = [...OURS, ...(guarded ? ['accept-encoding', ...PIECES] : [])];
  if (endpoint !== null) drop.push(...CREDENTIALS, ...OVERRIDES, ...headerOf(endpoint.auth).map(([name]) => name));
  const pairs = toPairs(returnHeaders(raw, drop)).filter(([name, value]) => !holdsToken(name, value, tokenHash));
  const headers = ['host', renderAuthority(target)];
  for (const [name, value] of pairs) {
    const replaced = placeholders.isEmpty ? value : placeholders.inHeader(value);
    if (replaced === null) return { refused: 'the secret cannot stand in a header' };
    headers.push(name, replaced);
  }
  if (guarded) headers.push('accept-encoding', 'identity');
  if (endpoint !== null) headers.push(...headerOf(endpoint.auth).flat());
  if (length === null) headers.push('transfer-encoding', 'chunked');
  else if (length > 0 || !/^(?:GET|HEAD|DELETE|OPTIONS)$/.test(onward.method))
    headers.push('content-length', `${length}`);
  return headers;
}

function headerOf(auth: Auth): [string, string][] {
  switch (auth.form) {
    case 'bearer':
      return [['authorization', `Bearer ${auth.value}`]];
    case 'bot':
      return [['authorization', `Bot ${auth.value}`]];
    case 'basic':
      return [['authorization', `Basic ${Buffer.from(`${auth.user}:${auth.value}`).toString('base64')}`]];
    case 'header':
      return [[auth.name.toLowerCase(), auth.value]];
    case 'query':
      return [];
  }
}

/** Path and query as the host gets them. */
export function onwardPath({ target, allowance, placeholders }: Onward): string {
  const { path, query } = target;
  const auth = allowance.endpoint?.auth ?? null;
  const text = placeholders.inUrl(
    auth?.form === 'query' ? path + withParameter(query, auth.name, auth.value) : path + query,
  );
  return text;
}

/** The caller's own parameters of that name, however they are spelt, make room for the injected one. */
function withParameter(query: string, name: string, value: string): string {
  const kept = query
    .slice(1)
    .split('&')
    .filter(part => part !== '' && decode(part.split('=')[0] ?? '').toLowerCase() !== name.toLowerCase());
  return `?${[...kept, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`].join('&')}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text; // no encoding that any server would read as the name
  }
}

/** The headers that the run gets. */
export function answerHeaders(raw: readonly string[], scrubber: Scrubber): string[] {
  const kept = returnHeaders(raw, ['alt-svc', 'proxy-connection']);
  return scrubber.isEmpty ? kept : kept.map((word, index) => (index % 2 === 0 ? word : scrubber.text(word)));
}

function toPairs(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}
