import type { FastifyReply, FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';
import { createEntry, type GuardOptions } from './guard.ts';
import { createHostCheck, type HostRules } from './hosts.ts';
import { SAFE_HEADERS } from './malformed.ts';
import type { Metrics } from './metrics.ts';
import { observe } from './observe.ts';
import { type RateSettings, Rates } from './rates.ts';
import type { ApiServer } from './server.ts';

export type ReceiveOptions = { guard: GuardOptions; hosts: HostRules; rates: RateSettings; metrics: Metrics | null };

declare module 'fastify' {
  interface FastifyInstance {
    /** The server is ending: it takes no new requests. Set by listen.ts. */
    draining: boolean;
  }
}

/**
 * What every request goes through before its body is read: who may not ask does not get to send megabytes. One hook, and
 * nothing to wait for when the caller was let in a moment ago: this is most of what a small request costs.
 */
export function receive(server: ApiServer, { guard, hosts, rates: settings, metrics }: ReceiveOptions): void {
  server.decorate('draining', false);
  server.decorateRequest('runId', null);
  server.decorateRequest('isOpen', false);
  const rates = new Rates(settings);
  server.decorateRequest('charge', function (this: FastifyRequest, count: number) {
    rates.charge(this.caller, count);
  });
  const checkHost = createHostCheck(hosts);
  const enter = createEntry(guard, rates);
  server.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    observe(request, reply, url ?? 'unknown', metrics);
    reply.raw.on('close', () => {
      if (request.isOpen && request.identity !== null) rates.leave(request.identity.tenant);
    });
    reply.headers(SAFE_HEADERS).header('x-request-id', request.id);
    const refuse = (error: unknown) => {
      leaveBody(request, reply);
      done(error as Error);
    };
    try {
      if (checkHost(request, reply)) return;
      if (server.draining && !WHILE_DRAINING.has(url ?? '')) throw stopping();
      const entering = enter(request, config.scope);
      if (entering === undefined) done();
      else entering.then(() => done(), refuse);
    } catch (error) {
      refuse(error);
    }
  });
}

/** Whoever looks after the server wants to know that it still lives. */
const WHILE_DRAINING: ReadonlySet<string> = new Set(['/health', '/ready']);

function stopping(): SkillboxError {
  return new SkillboxError('SHUTTING_DOWN', 'the server is stopping', { details: { retryAfterSeconds: 1 } });
}

/** The body of a refused request is not waited for: the connection ends with the answer. */
function leaveBody(request: FastifyRequest, reply: FastifyReply): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined || (length !== undefined && length !== '0')) reply.header('connection', 'close');
}
