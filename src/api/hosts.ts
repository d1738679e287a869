import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';

/** Whom the server answers, by the names that browsers send along. */
export type HostRules = {
  /** Names that are the server's own, besides those of loopback. */
  hosts: readonly string[];
  /** Web pages of other origins that may call it from a browser. */
  origins: readonly string[];
  /** It listens for other machines: then it is also called by its addresses. */
  reachable: boolean;
};

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Throws when the request is not for us. True when it was a browser's question beforehand, and is answered. */
export type HostCheck = (request: FastifyRequest, reply: FastifyReply) => boolean;

/**
 * Threats: a page on another site that calls the server from the browser of somebody inside, and a name of that site that
 * suddenly means this machine (DNS rebinding). An address is no name, so nobody can make it mean something else.
 */
export function createHostCheck(rules: HostRules): HostCheck {
  const names = new Set([...LOOPBACK, ...rules.hosts.map(host => host.toLowerCase())]);
  const origins = new Set(rules.origins.map(origin => origin.toLowerCase()));
  return (request, reply) => {
    const host = hostOf(request);
    if (!names.has(host.name) && !(rules.reachable && isAddress(host.name)))
      throw refused('the server is not called by this name', 'host');
    return answerOrigin(request, reply, host.text, origins);
  };
}

function hostOf(request: FastifyRequest): { name: string; text: string } {
  // Threat: who stands in front reads one of two names, and we the other.
  if (!request.url.startsWith('/') || countHosts(request.raw.rawHeaders) > 1)
    throw refused('the request names two servers', 'host');
  const text = (request.headers.host ?? '').toLowerCase();
  const [, name] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(text) ?? [];
  if (name === undefined) throw refused('the request does not say which server it is for', 'host');
  return { name, text };
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** True when the request was a browser's question beforehand, and is answered. */
function answerOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  host: string,
  allowed: ReadonlySet<string>,
): boolean {
  const { origin: given, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers;
  if (given === undefined) {
    // A picture or a script tag sends no Origin; a link that a person follows is no page that calls.
    if (site === 'cross-site' && mode !== 'navigate') throw refused('another site may not call the server', 'origin');
    return false;
  }
  const origin = given.toLowerCase();
  if (origin === `http://${host}` || origin === `https://${host}`) return false;
  if (!allowed.has(origin)) throw refused('a page of this origin may not call the server', 'origin');
  reply.headers({
    'access-control-allow-origin': given,
    'access-control-expose-headers':
      'x-request-id, retry-after, location, allow, mcp-session-id, www-authenticate, link, etag, content-disposition, preference-applied',
    vary: 'origin',
  });
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false;
  reply
    .headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, prefer, x-request-id',
      'access-control-max-age': '600',
    })
    .code(204)
    .send();
  return true;
}

function refused(message: string, what: 'host' | 'origin'): SkillboxError {
  return new SkillboxError('ORIGIN_REFUSED', message, { details: { header: what } });
}
