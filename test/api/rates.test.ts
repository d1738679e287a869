import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { Buckets } from '../../src/api/buckets.ts';
import type { ApiCaller, ApiServer, ServerOptions } from '../../src/api/index.ts';
import { networkOf } from '../../src/api/rates.ts';
import { as, byName, serve } from './support.ts';

let server: ApiServer;
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(async () => {
  vi.useRealTimers();
  await server?.close();
});
const later = (ms: number) => vi.advanceTimersByTime(ms);

const slow = async (token: string): Promise<ApiCaller> => ({ ...(await byName(token)), requestsPerMinute: 3 });

let release: () => void = () => undefined;
const start = async (options: Partial<ServerOptions> = {}) => {
  server = await serve(
    api => {
      api.get('/v1/open', { config: { scope: 'anyone' } }, async () => ({ ok: true }));
      api.get('/v1/mine', { config: { scope: 'read' } }, async () => ({ ok: true }));
      api.get('/v1/long', { config: { scope: 'read' } }, async () => {
        await new Promise<void>(resolve => {
          release = resolve;
        });
        return { ok: true };
      });
    },
    { authenticate: slow, ...options },
  );
};
const ask = (url: string, key: string | null, remoteAddress = '10.0.0.1') =>
  server.inject({ url, remoteAddress, headers: key === null ? {} : as(key) });
const statuses = async (count: number, url: string, key: string | null, address?: string) => {
  const found = [];
  for (let i = 0; i < count; i++) found.push((await ask(url, key, address)).statusCode);
  return found;
};

describe('a tenant', () => {
  it('has as many requests in a minute as its quota says, and is told when to come back', async () => {
    await start();
    expect(await statuses(4, '/v1/mine', 'read@acme')).toEqual([200, 200, 200, 429]);
    const answer = await ask('/v1/mine', 'read@acme');
    expect([answer.json().error, answer.headers['retry-after']]).toEqual(['RATE_LIMITED', '20']);
    later(19_000);
    expect((await ask('/v1/mine', 'read@acme')).headers['retry-after']).toBe('1');
    later(1000);
    expect(await statuses(2, '/v1/mine', 'read@acme')).toEqual([200, 429]);
  });

  it('takes nothing from another, and has one allowance for all its keys', async () => {
    await start();
    expect(await statuses(4, '/v1/mine', 'read@acme')).toContain(429);
    expect((await ask('/v1/mine', 'all@acme')).statusCode).toBe(429);
    expect(await statuses(3, '/v1/mine', 'read@beta')).toEqual([200, 200, 200]);
  });

  it('pays for what it may not do as well', async () => {
    await start();
    expect(await statuses(4, '/v1/mine', 'run@acme')).toEqual([403, 403, 403, 429]);
  });

  it('with no requests left to it has none', async () => {
    await start({ authenticate: async token => ({ ...(await byName(token)), requestsPerMinute: 0 }) });
    expect((await ask('/v1/mine', 'read')).headers['retry-after']).toBe('3600');
  });

  it('has a number of requests on the way at once, and the next when one has ended', async () => {
    await start({ authenticate: byName, rates: { maxOpenPerTenant: 1 } });
    const long = ask('/v1/long', 'read@acme').then(answer => answer);
    await vi.waitFor(async () => expect((await ask('/v1/mine', 'read@acme')).statusCode).toBe(429));
    expect((await ask('/v1/mine', 'read@beta')).statusCode).toBe(200);
    release();
    expect((await long).statusCode).toBe(200);
    await vi.waitFor(async () => expect((await ask('/v1/mine', 'read@acme')).statusCode).toBe(200));
  });
});

describe('an address', () => {
  it('that does not say who it is has its own allowance', async () => {
    await start({ rates: { anonymousPerMinute: 2 } });
    expect(await statuses(3, '/v1/open', null)).toEqual([200, 200, 429]);
    expect(await statuses(1, '/v1/mine', null)).toEqual([429]);
    expect(await statuses(1, '/nothing', null)).toEqual([429]);
    expect(await statuses(1, '/v1/open', null, '10.0.0.2')).toEqual([200]);
    expect(await statuses(1, '/v1/mine', 'read')).toEqual([200]);
  });

  it('with wrong keys is not heard any more, but for those who were let in a moment ago', async () => {
    let asked = 0;
    const recall = (token: string): ApiCaller | null =>
      token === 'read@known'
        ? { tenant: 'known', id: 'k', key: 'k', scopes: ['read'], expiresAt: null, requestsPerMinute: 10 }
        : null;
    const authenticate = (token: string) => {
      asked += 1;
      return byName(token);
    };
    await start({ authenticate, recall, rates: { failuresPerMinute: 2 } });
    expect(await statuses(4, '/v1/mine', 'wrong')).toEqual([401, 401, 429, 429]);
    expect(asked).toBe(2);
    // A right one is not even looked at, so nobody can try keys faster than that.
    expect(await statuses(1, '/v1/mine', 'read')).toEqual([429]);
    expect(await statuses(1, '/v1/mine', 'read@known')).toEqual([200]);
    expect(await statuses(1, '/v1/mine', 'read', '10.0.0.2')).toEqual([200]);
    later(30_000);
    expect(await statuses(1, '/v1/mine', 'read')).toEqual([200]);
  });

  it('that sends wrong keys all the time does not shut out others there, whose keys were good before', async () => {
    const revoked = new Set<string>();
    const authenticate = (token: string) => byName(revoked.has(token) ? 'nobody' : token);
    await start({ authenticate, rates: { failuresPerMinute: 2 } });
    expect(await statuses(1, '/v1/mine', 'read')).toEqual([200]);
    for (let minute = 0; minute < 3; minute++) {
      expect(await statuses(6, '/v1/mine', 'wrong')).toContain(429);
      expect(await statuses(1, '/v1/mine', 'read')).toEqual([200]);
      later(60_000);
    }
    expect(await statuses(6, '/v1/mine', 'wrong')).toContain(429);
    // One that is revoked is told so once, and is then as wrong as the others.
    revoked.add('read');
    expect(await statuses(2, '/v1/mine', 'read')).toEqual([401, 429]);
  });

  it('of IPv6 is a network, and a mapped one is IPv4', async () => {
    await start({ rates: { anonymousPerMinute: 1 } });
    expect(await statuses(1, '/v1/open', null, '2001:db8:1:2::7')).toEqual([200]);
    expect(await statuses(1, '/v1/open', null, '2001:db8:1:2:9:9:9:9')).toEqual([429]);
    expect(await statuses(1, '/v1/open', null, '2001:db8:1:3::7')).toEqual([200]);
    expect(await statuses(1, '/v1/open', null, '10.9.9.9')).toEqual([200]);
    expect(await statuses(1, '/v1/open', null, '::ffff:10.9.9.9')).toEqual([429]);
  });

  it('that a proxy names counts only when the proxy is believed', async () => {
    const from = (client: string) =>
      server.inject({ url: '/v1/open', remoteAddress: '10.0.0.1', headers: { 'x-forwarded-for': client } });
    await start({ rates: { anonymousPerMinute: 1 } });
    expect([(await from('1.1.1.1')).statusCode, (await from('2.2.2.2')).statusCode]).toEqual([200, 429]);
    await server.close();
    await start({ rates: { anonymousPerMinute: 1 }, proxies: ['10.0.0.1'] });
    expect([(await from('1.1.1.1')).statusCode, (await from('2.2.2.2')).statusCode]).toEqual([200, 200]);
    expect((await from('3.3.3.3, 1.1.1.1')).statusCode).toBe(429);
  });
});

test('a bucket gives no more than it may, however it is asked', () => {
  const steps = fc.array(fc.record({ wait: fc.nat(5000), name: fc.constantFrom('a', 'b') }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 20 }), (asked, perMinute, burst) => {
      const buckets = new Buckets(10);
      let now = 0;
      const given = { a: 0, b: 0 };
      for (const { wait, name } of asked) {
        now += wait;
        const seconds = buckets.take(name as 'a' | 'b', perMinute, burst, now);
        if (seconds === 0) given[name as 'a' | 'b'] += 1;
        // Whoever waits as long as was said is served.
        else expect(buckets.look(name, perMinute, burst, now + seconds * 1000)).toBe(0);
      }
      for (const count of Object.values(given))
        expect(count).toBeLessThanOrEqual(burst + (now * perMinute) / 60_000 + 1e-3);
    }),
  );
});

test('buckets are bounded in number', () => {
  const buckets = new Buckets(100);
  for (let i = 0; i < 1000; i++) buckets.take(`10.0.${i >> 8}.${i & 255}`, 10, 10, i);
  expect(buckets.size).toBe(100);
});

test.each([
  ['::', '0:0:0:0'],
  ['::1', '0:0:0:0'],
  ['2001:db8::', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4'],
  ['0001:2::8', '1:2:0:0'],
])('%s lies in %s', (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});
