import * as fc from 'fast-check';
import Type from 'typebox';
import { afterEach, describe, expect, it, test } from 'vitest';
import type { ApiServer, RouteScope } from '../../src/api/index.ts';
import { isDeeper } from '../../src/api/json-body.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { as, serve } from './support.ts';

let server: ApiServer;
afterEach(() => server?.close());

const Wish = Type.Object(
  { name: Type.String({ maxLength: 5 }), count: Type.Optional(Type.Integer()) },
  { additionalProperties: false },
);

function routes(api: ApiServer): void {
  api.get('/v1/open', { config: { scope: 'anyone' } }, async () => ({ ok: true }));
  api.get('/v1/me', { config: { scope: 'caller' } }, request => request.service.whoAmI());
  api.get('/v1/either', { config: { scope: ['approve', 'admin'] } }, async () => ({ ok: true }));
  api.post('/v1/wish', { config: { scope: 'run' }, schema: { body: Wish } }, async request => ({ got: request.body }));
  api.get(
    '/v1/things/:id',
    { config: { scope: 'read' }, schema: { querystring: Type.Object({ limit: Type.Integer({ default: 7 }) }) } },
    async request => ({ limit: request.query.limit, tenant: request.caller.tenant }),
  );
  api.get('/v1/broken', { config: { scope: 'anyone' } }, () => {
    throw new Error('secret path /var/lib/skillbox');
  });
  api.get('/v1/full', { config: { scope: 'anyone' } }, () => {
    throw new SkillboxError('UNWRITABLE', 'cannot write /var/lib/skillbox/skillbox.db', { details: { path: '/var' } });
  });
  api.get('/v1/known', { config: { scope: 'anyone' } }, () => {
    throw new SkillboxError('QUEUE_FULL', 'the line is full', { details: { retryAfterSeconds: 3 } });
  });
}

describe('errors have one form', () => {
  const wish = (payload: string, headers: Record<string, string> = {}) =>
    server.inject({
      method: 'POST',
      url: '/v1/wish',
      payload,
      headers: { 'content-type': 'application/json', ...as('run'), ...headers },
    });

  it.each([
    ['a wrong type', '{"name":5}', 400, 'BODY_REFUSED', '/name'],
    ['a number in quotes', '{"name":"a","count":"5"}', 400, 'BODY_REFUSED', '/count'],
    ['a missing field', '{}', 400, 'BODY_REFUSED', '/name'],
    ['an unknown field', '{"name":"a","more":1}', 400, 'BODY_REFUSED', '/more'],
    ['no JSON', '{"name":', 400, 'BODY_REFUSED', null],
    ['nothing', '', 400, 'BODY_REFUSED', null],
    ['null', 'null', 400, 'BODY_REFUSED', null],
    ['a prototype', '{"name":"a","__proto__":{"x":1}}', 400, 'BODY_REFUSED', null],
    ['a constructor', '{"name":"a","constructor":{"prototype":{"x":1}}}', 400, 'BODY_REFUSED', null],
    ['65 levels', `{"name":${'['.repeat(64)}${']'.repeat(64)}}`, 400, 'BODY_REFUSED', null],
    ['100,000 levels', '['.repeat(100_000), 400, 'BODY_REFUSED', null],
    ['too many bytes', `{"name":"${'a'.repeat(1024 ** 2)}"}`, 413, 'BODY_TOO_LARGE', null],
  ])('%s', async (_name, payload, status, code, field) => {
    server = await serve(routes);
    const answer = await wish(payload);
    const body = answer.json();
    expect([answer.statusCode, body.error]).toEqual([status, code]);
    expect(Object.keys(body)).toEqual(['error', 'message', 'hint', 'details', 'request_id']);
    expect(body.request_id).toBe(answer.headers['x-request-id']);
    if (field !== null) expect(body.details.fields[0]).toMatchObject({ in: 'body', field });
  });

  it('a misspelt field is told in words: what is missing, and what nobody knows, however many and however odd', async () => {
    server = await serve(routes);
    const misspelt = (await wish('{"nmae":"a secret"}')).json();
    expect(misspelt.message).toBe('in the body: /name is missing; /nmae is not known here');
    expect(JSON.stringify(misspelt)).not.toContain('a secret');
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`\u001b${'x'.repeat(300)}${index}`, 1]));
    const odd = (await wish(JSON.stringify({ name: 'a', ...many }))).json();
    expect(odd.details.fields.length).toBeLessThanOrEqual(8);
    expect(odd.message).toContain('is not known here');
    expect(odd.message.length).toBeLessThan(1000);
    expect(odd.message).not.toContain('\u001b');
  });

  it('a body that is not UTF-8, or of another type', async () => {
    server = await serve(routes);
    const post = (type: string, payload: Buffer) =>
      server.inject({ method: 'POST', url: '/v1/wish', payload, headers: { 'content-type': type, ...as('run') } });
    const bad = await post('application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22]));
    expect([bad.statusCode, bad.json().error]).toEqual([400, 'BODY_REFUSED']);
    for (const type of ['text/plain', 'application/xml', 'x']) {
      const answer = await post(type, Buffer.from('{"name":"a"}'));
      expect([type, answer.statusCode, answer.json().error]).toEqual([type, 415, 'MEDIA_TYPE_REFUSED']);
    }
  });

  it('what does fit goes through as it is', async () => {
    server = await serve(routes);
    expect((await wish('{"name":"a","count":2}')).json()).toEqual({ got: { name: 'a', count: 2 } });
  });

  it('an unknown path, and a method that is not taken', async () => {
    server = await serve(routes);
    const nothing = await server.inject('/v1/nothing');
    expect([nothing.statusCode, nothing.json().error]).toEqual([404, 'NOT_FOUND']);
    expect(nothing.json().hint).toContain('/docs');
    const method = await server.inject({ method: 'DELETE', url: '/v1/things/5?x=1' });
    expect([method.statusCode, method.json().error, method.headers.allow]).toEqual([
      405,
      'METHOD_REFUSED',
      'GET, HEAD',
    ]);
    const odd = await server.inject('/v1/things/%zz');
    expect([odd.statusCode, odd.json().error]).toEqual([400, 'BODY_REFUSED']);
  });

  it('a path that is too long, and a query that does not fit', async () => {
    server = await serve(routes);
    const long = await server.inject({ url: `/v1/things/${'a'.repeat(300)}`, headers: as('read') });
    expect([long.statusCode, long.json().error]).toEqual([400, 'BODY_REFUSED']);
    const query = await server.inject({ url: '/v1/things/5?limit=many', headers: as('read') });
    expect([query.statusCode, query.json().details.fields[0].in]).toEqual([400, 'querystring']);
    const good = await server.inject({ url: '/v1/things/5?limit=3', headers: as('read@beta') });
    expect(good.json()).toEqual({ limit: 3, tenant: 'beta' });
    expect((await server.inject({ url: '/v1/things/5', headers: as('read') })).json().limit).toBe(7);
  });

  it('our own faults tell nothing of the server', async () => {
    server = await serve(routes);
    for (const [url, status, code] of [
      ['/v1/broken', 500, 'INTERNAL'],
      ['/v1/full', 507, 'UNWRITABLE'],
    ] as const) {
      const answer = await server.inject(url);
      expect([answer.statusCode, answer.json().error, answer.json().details]).toEqual([status, code, {}]);
      expect(answer.body).not.toContain('/var');
    }
  });

  it('Retry-After where it is known', async () => {
    server = await serve(routes);
    const answer = await server.inject('/v1/known');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '3']);
  });
});

describe('scopes', () => {
  it('a route that does not say its scope cannot be there', async () => {
    const silent: { config: { scope?: RouteScope } }[] = [{ config: {} }, { config: { scope: [] } }];
    for (const options of [...silent, { config: { scope: 'reed' as 'read' } }]) {
      const route = (api: ApiServer) => {
        api.get('/v1/x', options, async () => 1);
      };
      await expect(serve(route)).rejects.toThrow('does not say which scope');
    }
    await expect(serve(api => void api.get('/v1/x', async () => 1))).rejects.toThrow('does not say which scope');
  });

  it.each([
    ['/v1/open', null, 200],
    ['/v1/me', null, 401],
    ['/v1/me', 'none', 200],
    ['/v1/me', 'wrong', 401],
    ['/v1/things/1', 'run+publish+approve+secrets+admin', 403],
    ['/v1/things/1', 'read', 200],
    ['/v1/either', 'read', 403],
    ['/v1/either', 'approve', 200],
    ['/v1/either', 'admin', 200],
  ])('%s with %s: %i', async (url, key, status) => {
    server = await serve(routes);
    const answer = await server.inject({ url, headers: key === null ? {} : as(key) });
    expect(answer.statusCode).toBe(status);
    if (status === 401) expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic cmVhZDo=', 'read', 'Bearer a b', `Bearer ${'a'.repeat(9000)}`])(
    'Authorization: %.20s is nobody',
    async authorization => {
      server = await serve(routes);
      expect((await server.inject({ url: '/v1/me', headers: { authorization } })).statusCode).toBe(401);
    },
  );

  it('who may not ask does not get to send a body', async () => {
    server = await serve(routes);
    const answer = await server.inject({
      method: 'POST',
      url: '/v1/wish',
      payload: '['.repeat(1000),
      headers: { 'content-type': 'application/json', ...as('read') },
    });
    expect([answer.statusCode, answer.headers.connection]).toEqual([403, 'close']);
  });
});

describe('every answer', () => {
  it.each(['/v1/open', '/v1/nothing', '/v1/me', '/v1/broken', '/v1/things/%zz'])('%s is guarded', async url => {
    server = await serve(routes);
    const { headers } = await server.inject(url);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    });
    expect(headers['x-request-id']).toMatch(/^[0-9a-z]{26}$/);
    expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([]);
  });

  it('a request id of the client is kept when it is harmless', async () => {
    server = await serve(routes);
    const idFor = async (given: string) =>
      (await server.inject({ url: '/v1/open', headers: { 'x-request-id': given } })).headers['x-request-id'];
    expect(await idFor('trace-7.a_B')).toBe('trace-7.a_B');
    for (const bad of ['', 'a b', 'a"b', '<x>', 'a'.repeat(65), 'é', '{"a":1}'])
      expect(await idFor(bad)).toMatch(/^[0-9a-z]{26}$/);
  });
});

test('the depth of JSON is told without parsing it', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.nat(6), (text, max) => {
      expect(isDeeper(Buffer.from(text), max)).toBe(depthOf(JSON.parse(text)) > max);
    }),
  );
});
