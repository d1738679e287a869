import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts';
import type { RunEvent, Service, StartRequest } from '../../src/service/index.ts';
import { archiveOf, listening, type Served, serveWorld } from '../api/world.ts';

let served: Served;
let url: string;
let service: Client;
const key = 'all';
beforeAll(async () => {
  served = await serveWorld({ heartbeatMs: 20 });
  url = await listening(served.server);
});
beforeEach(async () => {
  served.world.fault = null;
  served.world.tenants.clear();
  service = createClient({ url, key, sleep: async () => {} });
  for (const name of ['hello', 'slow-a', 'wait-a']) await push(service, name);
});
afterAll(() => served.server.close());

async function* bytes(...parts: Buffer[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
const push = (to: Service, name: string, version = '1.0.0') =>
  to.skills.publish(bytes(archiveOf(name, version)), { tags: [], version: null });
const request = (skill: string, more: Partial<StartRequest> = {}): StartRequest => ({
  skill,
  version: null,
  target: { kind: 'main' },
  input: null,
  stdin: null,
  env: {},
  timeoutMs: null,
  ...more,
});
async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of source) found.push(each);
  return found;
}
const read = async (source: AsyncIterable<Uint8Array>) => Buffer.concat(await all(source)).toString();

/** A client whose network does as the test says, before it reaches the server. */
function through(
  change: (input: Request, go: () => Promise<Response>, count: number) => Promise<Response>,
  more: Partial<ClientOptions> = {},
) {
  const requests: Request[] = [];
  const sleeps: number[] = [];
  const client = createClient({
    url,
    key,
    fetch: async (input, init) => {
      const asked = new Request(input, init);
      requests.push(asked.clone());
      return change(asked, () => fetch(asked), requests.length);
    },
    sleep: async ms => void sleeps.push(ms),
    ...more,
  });
  return { client, requests, sleeps };
}
const answer = (status: number, body: object | string, headers: Record<string, string> = {}) =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
const refusal = (error: string) => ({ error, message: 'm', hint: 'h', details: { a: 1 }, request_id: 'r1' });

describe('the same as in process', () => {
  const inside = () => served.world.serviceFor({ tenant: 'acme', id: 'all', scopes: [], expiresAt: null });

  it('skills', async () => {
    const again = await push(service, 'hello');
    expect([again.created, again.skill.name]).toEqual([false, 'hello']);
    const page = { limit: 2, after: null };
    const filter = { query: null, tag: null, ...page };
    expect(await service.skills.list(filter)).toEqual({
      ...(await inside().skills.list(filter)),
      items: expect.any(Array),
    });
    const rest = await service.skills.list({ ...filter, after: '2' });
    expect([rest.items.length, rest.next]).toEqual([1, null]);
    expect(await service.skills.resolve('hello', null)).toMatchObject({ version: '1.0.0' });
    expect(await service.skills.describe('hello', '1.0.0')).toEqual(await inside().skills.describe('hello', '1.0.0'));
    expect(await read((await service.skills.download('hello', null)).content)).toBe('skill hello 1.0.0\n');
    const file = await service.skills.file('hello', null, 'SKILL.md');
    expect([file.bytes, await read(file.content)]).toEqual([18, 'skill hello 1.0.0\n']);
    expect(file.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await service.skills.diff('hello', '1.0.0', '1.0.0')).toEqual(
      await inside().skills.diff('hello', '1.0.0', '1.0.0'),
    );
    expect((await service.skills.tag('hello', 'stable', '1.0.0')).tags).toEqual(['stable']);
    await service.skills.untag('hello', 'stable');
    expect((await service.skills.yank('hello', '1.0.0', 'bad')).yanked?.reason).toBe('bad');
    expect((await service.skills.versions('hello'))[0]?.yanked).not.toBeNull();
    expect((await service.skills.unyank('hello', '1.0.0')).yanked).toBeNull();
  });

  it('runs', async () => {
    const run = await service.runs.start(request('hello', { input: { a: [1] } }), { idempotencyKey: null });
    expect(run).toEqual(await inside().runs.get(run.id));
    expect(await service.runs.get(run.id)).toEqual(run);
    expect(await service.runs.wait(run.id, { timeoutMs: null, signal: null })).toEqual(run);
    expect(await service.runs.plan(request('hello'))).toEqual({ skill: 'hello', verdict: 'allow' });
    const filter = { states: ['success' as const], skill: 'hello', since: 5, limit: 10_000, after: null };
    expect((await service.runs.list(filter)).items).toEqual([{ ...run, output: null }]);
    expect(await service.runs.logs(run.id, 0)).toEqual(await inside().runs.logs(run.id, 0));
    const { artifact, content } = await service.runs.artifact(run.id, 'out/hello.html');
    expect([artifact, await read(content)]).toEqual([run.artifacts[0], 'hello']);
    expect(await read((await service.runs.artifact(run.id, null)).content)).toBe('not really a tar.gz');
    expect(await service.runs.artifactUrl(run.id, null, 60)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/blobs\//);
    expect(await service.runs.cancel(run.id)).toBe(false);
  });

  it('runs a skill from its start to its end in one call', async () => {
    const done = await service.run('hello', { a: 1 });
    expect([done.state, done]).toEqual(['success', await inside().runs.get(done.id)]);
    const { client, requests } = through((_, go) => go());
    expect((await client.run('wait-a', null, { version: '1.0.0', env: { A: 'b' } })).state).toBe('waiting');
    expect(await requests[0]?.json()).toMatchObject({ skill: 'wait-a', version: '1.0.0', env: { A: 'b' } });
    const signal = AbortSignal.timeout(50);
    await expect(service.run('slow-a', null, { signal })).rejects.toThrow();
  });

  it('waits, within a time, and until nobody wants to know', async () => {
    const { id } = await service.runs.start(request('slow-a'), { idempotencyKey: null });
    expect((await service.runs.wait(id, { timeoutMs: 30, signal: null })).state).toBe('running');
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 30);
    await expect(service.runs.wait(id, { timeoutMs: null, signal: control.signal })).rejects.toThrow('enough');
    expect(await service.runs.cancel(id)).toBe(true);
    const { id: other } = await service.runs.start(request('wait-a'), { idempotencyKey: null });
    expect((await service.runs.wait(other, { timeoutMs: null, signal: null })).state).toBe('waiting');
  });

  it('guards and people', async () => {
    const { id } = await createClient({ url, key: 'run' }).runs.start(request('wait-a'), { idempotencyKey: null });
    expect((await service.approvals.waiting({ limit: 9, after: null })).items.map(run => run.id)).toEqual([id]);
    expect(await service.approvals.question(id)).toEqual({ command: ['bash', 'main.sh'] });
    expect((await service.approvals.answer(id, 'once')).state).toBe('queued');
    const [given] = (await service.approvals.answers({ limit: 9, after: null })).items;
    expect((await service.approvals.revoke(given?.id ?? '')).revokedAt).toBeGreaterThan(0);
    expect(await service.catalog.render({ format: 'xml', budget: 10, query: null })).toContain('hello');
    expect(await service.catalog.render({ format: 'json', budget: null, query: null })).toBe(
      '["hello","slow-a","wait-a"]',
    );
    expect((await service.catalog.activate('hello', null)).text).toBe('# hello');
    expect(await service.policy.explain({ skill: 'hello', version: null, target: { kind: 'main' } })).toMatchObject({
      verdict: 'allow',
    });
    expect((await service.secrets.set('TOKEN', 'v', ['a.example'])).hosts).toEqual(['a.example']);
    expect((await service.secrets.list()).map(({ name }) => name)).toEqual(['TOKEN']);
    await service.secrets.remove('TOKEN');
    expect(await service.providers.list()).toEqual(await inside().providers.list());
    const { key: made, secret } = await service.keys.create({
      name: 'k',
      tenant: null,
      scopes: ['read'],
      expiresAt: 4e12,
    });
    expect([made.expiresAt, secret.includes(made.id)]).toEqual([4e12, true]);
    expect((await service.keys.rotate(made.id, 5)).secret).not.toBe(secret);
    expect((await service.keys.list({ tenant: null, limit: 9, after: null })).items).toEqual([made]);
    expect((await service.keys.revoke(made.id)).revokedAt).not.toBeNull();
    const tenant = `t-${Date.now()}`;
    expect((await service.tenants.create(tenant, { running: 1 })).quotas.running).toBe(1);
    expect((await service.tenants.update(tenant, { quotas: null, disabled: true })).disabledAt).not.toBeNull();
    expect((await service.tenants.list({ limit: 500, after: null })).items.map(({ name }) => name)).toContain(tenant);
    expect(
      (await service.audit.list({ types: ['skill.published'], subject: 'hello', since: 0, limit: 9, after: null }))
        .items.length,
    ).toBe(1);
    expect((await service.audit.verify()).ok).toBe(true);
    expect(await service.whoAmI()).toMatchObject({ tenant: 'acme', id: 'all' });
  });
});

describe('following', () => {
  const texts = (events: RunEvent[]) => events.map(event => (event.kind === 'log' ? event.line.text : event.run.state));

  it('brings every event once, also when the connection breaks again and again', async () => {
    const { id } = await service.runs.start(request('slow-a'), { idempotencyKey: null });
    const { client, requests } = through(async (_asked, go, count) => {
      const whole = await go();
      if (count > 5 || whole.body === null) return whole;
      const reader = whole.body.getReader();
      let left = 2;
      // Breaks in the middle of what is sent, however it was cut into pieces.
      const broken = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done || left-- === 0) {
            await reader.cancel();
            controller.error(new TypeError('terminated'));
          } else controller.enqueue(left === 0 ? value.subarray(0, Math.ceil(value.length / 2)) : value);
        },
      });
      return new Response(broken, { status: whole.status, headers: whole.headers });
    });
    const written = ['1', '2', '3', '4', '5', '6', '7', '8'];
    const writing = (async () => {
      for (const text of written) {
        served.world.print('acme', id, text);
        await new Promise(resolve => setTimeout(resolve, 15));
      }
      served.world.end('acme', id);
    })();
    const events = await all(client.runs.follow(id, { offset: 0, signal: null }));
    await writing;
    expect(texts(events)).toEqual(['running', ...written, 'success']);
    expect(requests.length).toBeGreaterThan(2);
    expect(texts(await all(service.runs.follow(id, { offset: 6, signal: null })))).toEqual(['7', '8', 'success']);
  });

  it('ends quietly when nobody wants to know any more, and with an error when it never comes to anything', async () => {
    const { id } = await service.runs.start(request('slow-a'), { idempotencyKey: null });
    const control = new AbortController();
    setTimeout(() => control.abort(), 50);
    expect(texts(await all(service.runs.follow(id, { offset: 0, signal: control.signal })))).toEqual(['running']);
    const { client } = through(async () => answer(200, ''));
    await expect(all(client.runs.follow(id, { offset: 0, signal: null }))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    await expect(all(service.runs.follow('nothing', { offset: 0, signal: null }))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('a run whose end was seen is not asked for again', async () => {
    const { id } = await service.runs.start(request('hello'), { idempotencyKey: null });
    expect(texts(await all(service.runs.follow(id, { offset: 0, signal: null })))).toEqual([
      'one\n',
      'two\n',
      'three\n',
      'success',
    ]);
  });
});

describe('trying again', () => {
  it('a start whose answer was lost is one run', async () => {
    const { client, requests } = through(async (_asked, go, count) => {
      const got = await go();
      if (count < 3) throw new TypeError('fetch failed');
      return got;
    });
    await client.runs.start(request('hello'), { idempotencyKey: null });
    expect(served.world.tenant('acme').runs.size).toBe(1);
    const keys = requests.map(each => each.headers.get('idempotency-key'));
    expect([keys.length, new Set(keys).size, keys[0]?.length]).toEqual([3, 1, 32]);
    await service.runs.start(request('hello'), { idempotencyKey: null });
    expect(served.world.tenant('acme').runs.size).toBe(2);
  });

  it('waits as long as the server says, and gives up on what is too long or too often', async () => {
    const first = through(async (_asked, go, count) =>
      count === 1 ? answer(429, refusal('RATE_LIMITED'), { 'retry-after': '7' }) : go(),
    );
    await first.client.whoAmI();
    expect(first.sleeps).toEqual([7000]);
    const long = through(async () => answer(503, refusal('BACKEND_UNAVAILABLE'), { 'retry-after': '3600' }));
    await expect(long.client.whoAmI()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(long.requests.length).toBe(1);
    const often = through(async () => answer(502, '<html>'), { retries: 3 });
    await expect(often.client.whoAmI()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect([often.requests.length, often.sleeps.every((ms, i) => ms <= 200 * 2 ** i && ms >= 100 * 2 ** i)]).toEqual([
      4,
      true,
    ]);
  });

  it.each([
    ['a key', (c: Service) => c.keys.create({ name: 'k', tenant: null, scopes: [], expiresAt: null }), 1],
    ['an answer', (c: Service) => c.approvals.answer('x', 'once'), 1],
    ['a removal', (c: Service) => c.secrets.remove('X'), 1],
    ['a tenant', (c: Service) => c.tenants.create('x', {}), 1],
    ['an upload', (c: Service) => push(c, 'x'), 1],
    ['a look', (c: Service) => c.runs.get('x'), 5],
    ['a new value', (c: Service) => c.secrets.set('X', 'v', null), 5],
    ['a cancel', (c: Service) => c.runs.cancel('x'), 5],
  ])('%s whose answer was lost is sent only when that does no harm', async (_what, act, times) => {
    const lost = through(async () => Promise.reject(new TypeError('fetch failed')));
    await expect(act(lost.client)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(lost.requests.length).toBe(times);
    const refused = through(async () => answer(503, refusal('SHUTTING_DOWN')));
    await expect(act(refused.client)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(refused.requests.length).toBe(_what === 'an upload' ? 1 : 5);
  });
});

describe('errors', () => {
  it('come back as what they were', async () => {
    const error = await service.runs.get('nothing').catch((each: unknown) => each);
    expect(error).toBeInstanceOf(SkillboxError);
    expect(error).toMatchObject({ code: 'NOT_FOUND', hint: 'Check the path or the name.', status: 404, exit: 5 });
    expect((error as SkillboxError).details).toHaveProperty('request_id');
    await expect(createClient({ url, key: 'none' }).runs.get('x')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(createClient({ url, key: null }).runs.get('x')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect(push(service, 'hello', '')).resolves.toBeDefined();
    await expect(service.skills.publish(bytes(Buffer.from('x')), { tags: [], version: null })).rejects.toMatchObject({
      code: 'INVALID_SKILL',
    });
  });

  it.each([
    [answer(418, refusal('BREWING')), { code: 'BODY_REFUSED', details: { a: 1, code: 'BREWING', request_id: 'r1' } }],
    [answer(404, refusal('GONE_FISHING')), { code: 'NOT_FOUND' }],
    [answer(404, '<html>nginx'), { code: 'SERVER_UNREACHABLE', details: { status: 404 } }],
    [answer(404, '{"error":1}'), { code: 'SERVER_UNREACHABLE' }],
    [answer(200, 'not json'), { code: 'SERVER_UNREACHABLE' }],
  ])('of others are told apart (%#)', async (given, expected) => {
    const { client } = through(async () => given);
    await expect(client.whoAmI()).rejects.toMatchObject(expected);
  });

  it('never hold the key, a secret, or a password of the address', async () => {
    const lost = through(async () => Promise.reject(new TypeError('fetch failed')), { key: 'k3y-of-mine' });
    const error = (await lost.client.secrets.set('X', 's3cr3t', null).catch((each: unknown) => each)) as SkillboxError;
    const said = JSON.stringify([error.message, error.hint, error.details, String(error.cause)]);
    expect(said).not.toMatch(/k3y-of-mine|s3cr3t/);
    for (const bad of ['ftp://x', 'nonsense', 'http://user:pa55@x']) {
      try {
        createClient({ url: bad, key: null });
        expect.unreachable();
      } catch (each) {
        expect([(each as SkillboxError).code, String(each).includes('pa55')]).toEqual(['USAGE', false]);
      }
    }
    expect(() => createClient({ url, key: 'a\nb' })).toThrow('characters that no key has');
    expect(() => createClient({ url, key: 'a\nb' })).not.toThrow('a\nb');
  });

  it('a name that a URL would take for a step goes nowhere', async () => {
    const { client, requests } = through((_asked, go) => go());
    for (const name of ['..', '.', ''])
      await expect(client.skills.describe(name, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.runs.artifact('x', '../../keys')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(requests).toEqual([]);
    await expect(client.skills.describe('a/../b?c#d', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(new URL(requests[0]?.url ?? '').pathname).toBe('/v1/skills/a%2F..%2Fb%3Fc%23d/latest');
  });

  it('does not carry the key to where it is sent on', async () => {
    const { client } = through(async asked => {
      expect(asked.redirect).toBe('error');
      return answer(200, { tenant: 'a', id: 'b', scopes: [], expires_at: null });
    });
    await client.whoAmI();
  });

  it('closing ends what is under way', async () => {
    const client = createClient({ url, key });
    const { id } = await client.runs.start(request('slow-a'), { idempotencyKey: null });
    const waiting = client.runs.wait(id, { timeoutMs: null, signal: null });
    setTimeout(() => void client.close(), 20);
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELED' });
  });
});
