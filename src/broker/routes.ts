import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { answerFault, answerJson, answerText, type Fault } from './answer.ts';
import type { CustomSecret } from './brief.ts';
import { relay } from './relay.ts';
import type { Ask, Relaying } from './relaying.ts';
import { parsePath, parseUrl } from './target.ts';

const MAX_NAME_BYTES = 64 * 1024;
const MAX_JSON_BYTES = 4 * 1024 ** 2;
const MAX_HEADERS = 100;
/** As a request's own may have. */
const MAX_URL_LENGTH = 32 * 1024;
/** A provider, and the rest of the way as its host knows it. */
const PASSED = /^\/(?:v1\/proxy|api)\/([a-z0-9][a-z0-9._-]*)(\/.*)$/s;

/** SK-16: what the broker itself answers. `url` is a path with its query; the token has been checked. */
export async function route(
  relaying: Relaying,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: string,
): Promise<void> {
  const method = incoming.method ?? 'GET';
  const refuse = (fault: Fault, reason: string, capability: string | null = null) => {
    relaying.deny(fault, { capability, method, host: null, reason });
    answerFault(outgoing, fault, reason);
  };
  const [, provider, rest = ''] = PASSED.exec(url) ?? [];
  if (provider !== undefined) {
    const origin = relaying.judge.originOf(provider, method, rest.split('?', 1)[0] ?? '');
    if (origin === null) return refuse('denied', `nothing of ${provider} is granted`);
    const target = parsePath(origin, rest);
    if ('refused' in target) return refuse('bad_request', target.refused);
    return relay(relaying, askFrom(incoming, target, provider), outgoing);
  }
  const [path = '', ...query] = url.split('?');
  switch (path) {
    case '/v1/tokens/scoped':
      return refuse('denied', 'the token of a run mints no other');
    case '/v1/secrets/list':
      return list(relaying, incoming, outgoing);
    case '/v1/secrets/get': {
      const name = method === 'POST' ? await nameIn(incoming) : new URLSearchParams(query.join('?')).get('name');
      if (name === null) return refuse('bad_request', 'name the secret: {"name":"custom/KEY"}');
      return give(relaying, incoming, outgoing, name);
    }
    case '/v1/proxy/request': {
      const { flight, brief } = relaying;
      // What is read into memory counts as under way.
      if (flight.count >= brief.limits.concurrent) return refuse('limit_reached', 'too many requests are under way');
      flight.count++;
      const ask = await askIn(incoming).finally(() => {
        flight.count--;
      });
      return 'refused' in ask ? refuse('bad_request', ask.refused) : relay(relaying, ask, outgoing);
    }
  }
  const key = /^\/v1\/secrets\/custom\/([^/]+)$/.exec(path)?.[1];
  if (key !== undefined) return give(relaying, incoming, outgoing, `custom/${key}`);
  return answerFault(outgoing, 'not_found', `there is no ${path.slice(0, 200)}`);
}

/** The request that came, for another place. */
export function askFrom(incoming: IncomingMessage, target: Ask['target'], provider: string | null): Ask {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  return {
    method: incoming.method ?? 'GET',
    target,
    provider,
    rawHeaders: incoming.rawHeaders,
    body: incoming,
    length: coding === undefined ? Number(length ?? 0) : null,
  };
}

/** Names only. */
function list({ brief }: Relaying, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const secrets = brief.customs.map(({ key }) => `custom/${key}`).sort();
  const capabilities = brief.endpoints.map(({ capability }) => capability);
  if (wantsText(incoming)) answerText(outgoing, 200, 'text/plain', secrets.map(name => `${name}\n`).join(''));
  else answerJson(outgoing, 200, { secrets, capabilities: [...new Set(capabilities)].sort() });
}

/** SK-10: the value of a secret that is released, the placeholder of one that is bound. */
function give({ brief, say, deny }: Relaying, incoming: IncomingMessage, outgoing: ServerResponse, name: string) {
  const custom = brief.customs.find(({ key }) => name === `custom/${key}`);
  if (custom === undefined) {
    // The same answer for what was not granted and for what does not exist: a run learns nothing of other secrets.
    const reason = `${name} is not granted to this run`;
    deny('denied', { capability: name, method: incoming.method ?? 'GET', host: null, reason });
    return answerFault(outgoing, 'denied', reason);
  }
  const value = valueFor(custom);
  if (value === null) return answerFault(outgoing, 'not_found', `${name} has no value for this run`);
  const isBound = custom.hosts.length > 0;
  if (!isBound) say({ event: 'released', capability: name });
  if (wantsText(incoming)) answerText(outgoing, 200, 'text/plain', value);
  else answerJson(outgoing, 200, { name, value, bound: isBound, hosts: custom.hosts });
}

function valueFor({ hosts, placeholder, value }: CustomSecret): string | null {
  return hosts.length > 0 ? placeholder : value;
}

function wantsText({ headers }: IncomingMessage): boolean {
  return headers.accept === 'text/plain';
}

async function nameIn(incoming: IncomingMessage): Promise<string | null> {
  const value = await readJson(incoming, MAX_NAME_BYTES);
  return isObject(value) && typeof value.name === 'string' ? value.name : null;
}

/** `{"method","url","headers","body" | "bodyBase64"}`. The answer is the host's own. */
async function askIn(incoming: IncomingMessage): Promise<Ask | { refused: string }> {
  const value = await readJson(incoming, MAX_JSON_BYTES);
  if (!isObject(value) || typeof value.url !== 'string') return { refused: 'the body is no JSON object with a url' };
  const { method = 'GET', headers = {}, body, bodyBase64 } = value;
  if (typeof method !== 'string' || !isObject(headers)) return { refused: 'method or headers are no text' };
  const entries = Object.entries(headers);
  const fine = entries.every(
    ([name, word]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof word === 'string' && /^[\t\x20-\x7e]*$/.test(word),
  );
  if (!fine || entries.length > MAX_HEADERS) return { refused: 'a header is no header' };
  if (value.url.length > MAX_URL_LENGTH) return { refused: 'the url is too long' };
  const target = parseUrl(value.url);
  if ('refused' in target) return target;
  const bytes =
    typeof bodyBase64 === 'string'
      ? Buffer.from(bodyBase64, 'base64')
      : Buffer.from(typeof body === 'string' ? body : '');
  return {
    method: method.toUpperCase(),
    target,
    provider: null,
    rawHeaders: entries.flatMap(([name, word]) => [name, String(word)]),
    body: Readable.from(bytes.length === 0 ? [] : [bytes]),
    length: bytes.length,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null for what is too large or no JSON. */
async function readJson(incoming: IncomingMessage, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return null; // no JSON
  }
}
