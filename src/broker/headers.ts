import { type Refusal, returnHeaders } from '../egress/index.ts';
import type { Auth, Endpoint } from './brief.ts';
import type { Allowance } from './grant.ts';
import type { Placeholders } from './placeholder.ts';
import type { Scrubber } from './scrub.ts';
import { renderAuthority, type Target } from './target.ts';
import type { TokenCheck } from './token.ts';

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
const OURS: ReadonlySet<string> = new Set(['host', 'content-length', 'expect', 'proxy-authorization']);
const GUARDED: ReadonlySet<string> = new Set([...OURS, 'accept-encoding', ...PIECES]);
const UNANSWERED: ReadonlySet<string> = new Set(['alt-svc', 'proxy-connection']);
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

const PATH = /^[\x21-\x7e]+$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export type Onward = {
  target: Target;
  allowance: Allowance;
  placeholders: Placeholders;
  token: TokenCheck;
  /** Of the body; null where it is not known ahead. */
  length: number | null;
  method: string;
};

/** All that the host gets before the body. */
export function onwardHead(raw: readonly string[], onward: Onward): string | Refusal {
  const headers = onwardHeaders(raw, onward);
  if ('refused' in headers) return headers;
  const path = onwardPath(onward);
  if (typeof path !== 'string') return path;
  if (!PATH.test(path)) return { refused: 'the path cannot be said' };
  let head = `${onward.method} ${path} HTTP/1.1\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    // Threat: a line's end in a value would begin another header, or another request.
    if (!NAME.test(name) || !VALUE.test(value)) return { refused: 'the secret cannot stand in a header' };
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

function onwardHeaders(raw: readonly string[], onward: Onward): string[] | Refusal {
  const { target, allowance, placeholders, token, length } = onward;
  const { endpoint, known } = allowance;
  const isGuarded = known.length > 0;
  const kept = returnHeaders(raw, endpoint === null ? (isGuarded ? GUARDED : OURS) : droppedFor(endpoint));
  const headers = ['host', renderAuthority(target), 'connection', 'keep-alive'];
  for (let at = 0; at < kept.length; at += 2) {
    const [name = '', value = ''] = [kept[at], kept[at + 1]];
    if (token.isIn(name, value)) continue;
    const replaced = placeholders.isEmpty ? value : placeholders.inHeader(value);
    if (replaced === null) return { refused: 'the secret cannot stand in a header' };
    headers.push(name, replaced);
  }
  if (isGuarded) headers.push('accept-encoding', 'identity');
  if (endpoint !== null) headers.push(...headerOf(endpoint.auth).flat());
  if (length === null) headers.push('transfer-encoding', 'chunked');
  else if (length > 0 || !BODILESS.has(onward.method)) headers.push('content-length', `${length}`);
  return headers;
}

/** Every request to an endpoint drops the same. */
const dropped = new WeakMap<Endpoint, ReadonlySet<string>>();

function droppedFor(endpoint: Endpoint): ReadonlySet<string> {
  let names = dropped.get(endpoint);
  if (names === undefined) {
    const own = headerOf(endpoint.auth).map(([name]) => name);
    names = new Set([...GUARDED, ...CREDENTIALS, ...OVERRIDES, ...own]);
    dropped.set(endpoint, names);
  }
  return names;
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
function onwardPath({ target, allowance, placeholders }: Onward): string | Refusal {
  const { path, query } = target;
  const auth = allowance.endpoint?.auth ?? null;
  if (auth?.form !== 'query') return placeholders.inUrl(path + query);
  // Threat: some servers part parameters there too, and would find another key than the one that is put in.
  if (query.includes(';')) return { refused: 'the query holds a ";", which must be encoded where a key goes by query' };
  return placeholders.inUrl(path + withParameter(query, auth.name, auth.value));
}

/** The caller's own parameters of that name, however they are spelt, make room for the injected one. */
function withParameter(query: string, name: string, value: string): string {
  const kept = query
    .slice(1)
    .split('&')
    .filter(part => part !== '' && heardAs(decode(part.split('=')[0] ?? '')) !== heardAs(name));
  return `?${[...kept, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`].join('&')}`;
}

/** As the least strict server hears the name of a parameter: PHP takes `api.key[]` for `api_key`. */
function heardAs(name: string): string {
  return name
    .replace(/[[\0].*$/s, '')
    .trim()
    .replace(/[ .]/g, '_')
    .toLowerCase();
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
  const kept = returnHeaders(raw, UNANSWERED);
  // In one look, which seldom finds anything.
  if (scrubber.isEmpty || !scrubber.finds(kept.join('\n'))) return kept;
  // Names too: a `*` may stand in one.
  return kept.map(word => scrubber.text(word));
}

/** A net for keys cannot look into what is compressed. */
export function isCoded(raw: readonly string[]): boolean {
  return raw.some(
    (word, at) =>
      at % 2 === 0 && word.toLowerCase() === 'content-encoding' && (raw[at + 1] ?? '').toLowerCase() !== 'identity',
  );
}
