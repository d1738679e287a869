import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';
import { Buckets } from './buckets.ts';
import type { ApiCaller } from './caller.ts';

export type RateSettings = {
  /** Requests of one address that do not say who is calling. */
  anonymousPerMinute: number;
  /** Wrong keys from one address. Beyond it only keys are looked at that were good before: see proven.ts. */
  failuresPerMinute: number;
  /** Requests of one tenant that are on the way at once, streams included: the others want to be served too. */
  maxOpenPerTenant: number;
};

export const DEFAULT_RATES: RateSettings = { anonymousPerMinute: 1200, failuresPerMinute: 30, maxOpenPerTenant: 1024 };

const MAX_NAMES = 10_000;

/** Nobody takes the server from others: neither a tenant with its requests, nor an address with wrong keys. */
export class Rates {
  readonly #settings: RateSettings;
  readonly #tenants = new Buckets(MAX_NAMES);
  readonly #anonymous = new Buckets(MAX_NAMES);
  readonly #failures = new Buckets(MAX_NAMES);
  readonly #open = new Map<string, number>();

  constructor(settings: RateSettings) {
    this.#settings = settings;
  }

  /** A request of one who does not say who they are. */
  admitAnonymous(request: FastifyRequest): void {
    const { anonymousPerMinute: rate } = this.#settings;
    refuse(
      this.#anonymous.take(addressOf(request), rate, rate, performance.now()),
      'this address sends too many requests',
    );
  }

  /** Before a token is looked at. */
  admitToken(request: FastifyRequest): void {
    const { failuresPerMinute: rate } = this.#settings;
    refuse(
      this.#failures.look(addressOf(request), rate, rate, performance.now()),
      'too many wrong keys from this address',
    );
  }

  /** A token stood for nobody. */
  countFailure(request: FastifyRequest): void {
    const { failuresPerMinute: rate } = this.#settings;
    this.#failures.take(addressOf(request), rate, rate, performance.now());
  }

  /** A request of a tenant; it is on the way until it leaves. */
  admit({ tenant, requestsPerMinute: rate }: ApiCaller): void {
    refuse(this.#tenants.take(tenant, rate, rate, performance.now()), `the tenant ${tenant} sends too many requests`);
    const open = this.#open.get(tenant) ?? 0;
    if (open >= this.#settings.maxOpenPerTenant) refuse(1, `the tenant ${tenant} has too many requests on the way`);
    this.#open.set(tenant, open + 1);
  }

  /** Threat: many requests in one body would be one. */
  charge({ tenant, requestsPerMinute: rate }: ApiCaller, count: number): void {
    for (let i = 0; i < count; i++)
      refuse(this.#tenants.take(tenant, rate, rate, performance.now()), `the tenant ${tenant} sends too many requests`);
  }

  leave(tenant: string): void {
    const open = (this.#open.get(tenant) ?? 1) - 1;
    if (open > 0) this.#open.set(tenant, open);
    else this.#open.delete(tenant);
  }
}

function refuse(seconds: number, message: string): void {
  if (seconds > 0) throw new SkillboxError('RATE_LIMITED', message, { details: { retryAfterSeconds: seconds } });
}

/** Of IPv6 the network: whoever has one address there has 2^64 of them. */
function addressOf({ ip }: FastifyRequest): string {
  if (!isIPv6(ip)) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  return mapped ?? networkOf(ip);
}

export function networkOf(ip: string): string {
  const [before = '', after] = (ip.split('%', 1)[0] ?? '').split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map(part => Number.parseInt(part, 16).toString(16))
    .join(':');
}
