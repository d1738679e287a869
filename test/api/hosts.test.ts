import { afterEach, describe, expect, it } from 'vitest';
import type { ApiServer, HostRules } from '../../src/api/index.ts';
import { as, serve } from './support.ts';

let server: ApiServer;
afterEach(() => server?.close());

const open = async (hosts: Partial<HostRules> = {}) => {
  server = await serve(
    api => {
      api.get('/v1/open', { config: { scope: 'anyone' } }, async () => ({ ok: true }));
      api.post('/v1/do', { config: { scope: 'run' } }, async () => ({ ok: true }));
    },
    { hosts },
  );
};
const ask = async (headers: Record<string, string>, method: 'GET' | 'POST' | 'OPTIONS' = 'GET') => {
  const url = method === 'GET' ? '/v1/open' : '/v1/do';
  return server.inject({ method, url, headers: { host: 'localhost:8080', ...headers } });
};

describe('the name that the server is called by', () => {
  it.each(['localhost', 'LOCALHOST:9000', '127.0.0.1:8080', '[::1]:8080'])('%s is its own', async host => {
    await open();
    expect((await ask({ host })).statusCode).toBe(200);
  });

  it.each([
    'evil.example',
    'localhost.evil.example',
    'evil.example:8080',
    '192.168.1.7:8080',
    '127.0.0.1.nip.example',
    'localhost:80:80',
    'user@localhost',
    'localhost/',
    'localhost, evil.example',
    '0x7f.1',
    '2130706433',
    '[::ffff:127.0.0.1]',
    'localhost.',
  ])('%j is not', async host => {
    await open();
    const answer = await ask({ host });
    expect([answer.statusCode, answer.json().error]).toEqual([403, 'ORIGIN_REFUSED']);
  });

  it('names of the operator, and addresses when others can reach it', async () => {
    await open({ hosts: ['Skills.Example'], reachable: true });
    for (const host of ['skills.example', 'SKILLS.example:443', '192.168.1.7:8080', '[2001:db8::1]:8080'])
      expect((await ask({ host })).statusCode, host).toBe(200);
    // A name that somebody else has may mean this machine tomorrow.
    for (const host of ['evil.example', 'a.skills.example', '[::gg]', '1.2.3.4.5'])
      expect((await ask({ host })).statusCode, host).toBe(403);
  });

  it('also where nothing is', async () => {
    await open();
    const answer = await server.inject({ url: '/nothing', headers: { host: 'evil.example' } });
    expect(answer.statusCode).toBe(403);
  });
});

describe('a browser', () => {
  it.each([
    ['a page of another site', { origin: 'https://evil.example' }],
    ['a page of another port', { origin: 'http://localhost:3000' }],
    ['a file or a sandboxed frame', { origin: 'null' }],
    ['a picture on another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['an origin that only begins like ours', { origin: 'http://localhost:8080.evil.example' }],
  ])('%s is refused, with a key or without', async (_name, headers) => {
    await open();
    for (const more of [{}, as('all')]) {
      const get = await ask({ ...headers, ...more });
      const post = await ask({ ...headers, ...more }, 'POST');
      for (const answer of [get, post]) {
        expect([answer.statusCode, answer.json().error]).toEqual([403, 'ORIGIN_REFUSED']);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
  });

  it('our own page, and a link that a person follows', async () => {
    await open();
    expect((await ask({ origin: 'http://localhost:8080' })).statusCode).toBe(200);
    expect((await ask({ origin: 'https://localhost:8080', ...as('run') }, 'POST')).statusCode).toBe(200);
    expect((await ask({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).statusCode).toBe(200);
    expect((await ask({ 'sec-fetch-site': 'same-origin' })).statusCode).toBe(200);
  });

  it('is told that it may where the operator said so, and only then', async () => {
    await open({ origins: ['https://console.example'] });
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
    const before = await ask({ origin: 'https://console.example', ...asked }, 'OPTIONS');
    expect([before.statusCode, before.headers['access-control-allow-origin'], before.headers.vary]).toEqual([
      204,
      'https://console.example',
      'origin',
    ]);
    expect(before.headers['access-control-allow-headers']).toContain('authorization');
    expect(before.headers['access-control-allow-credentials']).toBeUndefined();
    const post = await ask({ origin: 'https://console.example', ...as('run') }, 'POST');
    expect([post.statusCode, post.headers['access-control-allow-origin']]).toEqual([200, 'https://console.example']);
    // What the client reads of an answer: in a browser a page is shown no other.
    const exposed = String(post.headers['access-control-expose-headers']).split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining([
        'link',
        'etag',
        'content-disposition',
        'retry-after',
        'x-request-id',
        'preference-applied',
      ]),
    );
    // Also what is refused can be read by the page that asked.
    const refused = await ask({ origin: 'https://console.example' }, 'POST');
    expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([
      401,
      'https://console.example',
    ]);
    for (const origin of ['http://console.example', 'https://console.example:444', 'https://evil.example'])
      expect((await ask({ origin, ...asked }, 'OPTIONS')).statusCode, origin).toBe(403);
  });
});
