import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { createClient } from '../../src/client/index.ts';
import type { Service } from '../../src/service/index.ts';
import { all, answer, bytes, key, push, refusal, request, serveClients } from './clients.ts';

const at = serveClients();

describe('trying again', () => {
  it('a start whose answer was lost is one run', async () => {
    const { client, requests } = at.through(async (_asked, go, count) => {
      const got = await go();
      if (count < 3) throw new TypeError('fetch failed');
      return got;
    });
    await client.runs.start(request('hello'), { idempotencyKey: null });
    expect(at.served.world.tenant('acme').runs.size).toBe(1);
    const keys = requests.map(each => each.headers.get('idempotency-key'));
    expect([keys.length, new Set(keys).size, keys[0]?.length]).toEqual([3, 1, 32]);
    await at.service.runs.start(request('hello'), { idempotencyKey: null });
    expect(at.served.world.tenant('acme').runs.size).toBe(2);
  });

  it('a start whose answer broke off is one run, too', async () => {
    const { client, requests } = at.through(async (_asked, go, count) => {
      const got = await go();
      if (count === 2) return got;
      const first = (await got.bytes()).subarray(0, 20);
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        if (pull.done) controller.error(new TypeError('terminated'));
        else controller.enqueue(first);
        pull.done = true;
      };
      pull.done = false;
      return new Response(new ReadableStream({ pull }), got);
    });
    const run = await client.runs.start(request('hello'), { idempotencyKey: null });
    expect([...at.served.world.tenant('acme').runs.keys()]).toEqual([run.id]);
    expect(requests.length).toBe(2);
  });

  it('a stream that is cut off again and again without news is asked for less and less often, and followed on', async () => {
    const { id } = await at.service.runs.start(request('slow-a'), { idempotencyKey: null });
    const state = JSON.stringify(
      await (
        await fetch(`${at.url}/v1/executions/${id}?logs=false`, { headers: { authorization: `Bearer ${key}` } })
      ).json(),
    );
    const { client, sleeps } = at.through(async (_asked, go, count) => {
      if (count > 12) return go();
      if (count === 12) at.served.world.end('acme', id);
      return answer(200, `event: state\nid: 0\ndata: ${state}\n\n`);
    });
    const events = await all(client.runs.follow(id, { offset: 0, signal: null }));
    expect(events.map(event => event.kind === 'state' && event.run.state)).toEqual(['running', 'success']);
    expect([sleeps.length, sleeps.at(-1) ?? 0]).toEqual([12, expect.closeTo(3750, -4)]);
    expect(sleeps.at(-1)).toBeGreaterThan(2000);
  });

  it('waits as long as the server says, and gives up on what is too long or too often', async () => {
    const first = at.through(async (_asked, go, count) =>
      count === 1 ? answer(429, refusal('RATE_LIMITED'), { 'retry-after': '7' }) : go(),
    );
    await first.client.whoAmI();
    expect(first.sleeps).toEqual([7000]);
    const long = at.through(async () => answer(503, refusal('BACKEND_UNAVAILABLE'), { 'retry-after': '3600' }));
    await expect(long.client.whoAmI()).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect(long.requests.length).toBe(1);
    const often = at.through(async () => answer(502, '<html>'), { retries: 3 });
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
    const lost = at.through(async () => Promise.reject(new TypeError('fetch failed')));
    await expect(act(lost.client)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(lost.requests.length).toBe(times);
    const refused = at.through(async () => answer(503, refusal('SHUTTING_DOWN')));
    await expect(act(refused.client)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(refused.requests.length).toBe(_what === 'an upload' ? 1 : 5);
  });
});

describe('errors', () => {
  it('come back as what they were', async () => {
    const error = await at.service.runs.get('nothing').catch((each: unknown) => each);
    expect(error).toBeInstanceOf(SkillboxError);
    expect(error).toMatchObject({ code: 'NOT_FOUND', hint: 'Check the path or the name.', status: 404, exit: 5 });
    expect((error as SkillboxError).details).toHaveProperty('request_id');
    await expect(createClient({ url: at.url, key: 'none' }).runs.get('x')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(createClient({ url: at.url, key: null }).runs.get('x')).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
    await expect(push(at.service, 'hello', '')).resolves.toBeDefined();
    await expect(at.service.skills.publish(bytes(Buffer.from('x')), { tags: [], version: null })).rejects.toMatchObject(
      {
        code: 'INVALID_SKILL',
      },
    );
  });

  it.each([
    [answer(418, refusal('BREWING')), { code: 'BODY_REFUSED', details: { a: 1, code: 'BREWING', request_id: 'r1' } }],
    [answer(404, refusal('GONE_FISHING')), { code: 'NOT_FOUND' }],
    [answer(404, '<html>nginx'), { code: 'SERVER_UNREACHABLE', details: { status: 404 } }],
    [answer(404, '{"error":1}'), { code: 'SERVER_UNREACHABLE' }],
    [answer(200, 'not json'), { code: 'SERVER_UNREACHABLE' }],
  ])('of others are told apart (%#)', async (given, expected) => {
    const { client } = at.through(async () => given);
    await expect(client.whoAmI()).rejects.toMatchObject(expected);
  });

  it('of something else that answers as if all were well: it is no Skillbox server', async () => {
    const said = { code: 'SERVER_UNREACHABLE', message: expect.stringContaining('no Skillbox server') };
    const page = at.through(async () => answer(200, '<html>Welcome', { 'content-type': 'text/html' }));
    await expect(page.client.whoAmI()).rejects.toMatchObject(said);
    // What is asked for as text would be shown to a model.
    const render = { format: 'xml', budget: null, query: null };
    await expect(page.client.catalog.render(render)).rejects.toMatchObject(said);
    await expect(page.client.runs.artifact('x', null)).rejects.toMatchObject(said);
    for (const text of ['null', '7', 'Hello', ''])
      await expect(at.through(async () => answer(200, text)).client.whoAmI()).rejects.toMatchObject(said);
  });

  it('of another API that answers with JSON as if all were well: nothing of it is taken for an answer', async () => {
    const paging = { limit: 10, after: null };
    const said: unknown[] = [
      {},
      { status: 'ok' },
      { items: [{}], next: null },
      [{}],
      { execution_id: '1', state: 'ok' },
    ];
    const acts: ((c: Service) => Promise<unknown>)[] = [
      c => c.whoAmI(),
      c => c.runs.get('x'),
      c => c.runs.start(request('x'), { idempotencyKey: null }),
      c => c.runs.list({ states: null, skill: null, since: null, ...paging }),
      c => c.runs.logs('x', 0),
      c => c.runs.cancel('x'),
      c => c.runs.artifactUrl('x', null, 1),
      c => all(c.runs.follow('x', { offset: 0, signal: null })),
      c => c.skills.list({ query: null, tag: null, ...paging }),
      c => c.skills.describe('x', null),
      c => c.skills.diff('x', '1', '2'),
      c => push(c, 'x'),
      c => c.approvals.waiting(paging),
      c => c.approvals.answers(paging),
      c => c.secrets.list(),
      c => c.providers.list(),
      c => c.keys.create({ name: 'k', tenant: null, scopes: [], expiresAt: null }),
      c => c.tenants.list(paging),
      c => c.audit.list({ types: null, subject: null, since: null, ...paging }),
      c => c.audit.verify(),
      c => c.catalog.activate('x', null),
      c => c.secrets.remove('X'),
      c => c.skills.untag('x', 'stable'),
      c => c.runs.artifact('x', 'a'),
      c => c.skills.file('x', null, 'a'),
    ];
    for (const act of acts)
      for (const each of said) {
        const text = `event: state\nid: 1\ndata: ${JSON.stringify(each)}\n\n`;
        const { client, requests } = at.through(async asked =>
          answer(200, asked.url.endsWith('/events') ? text : JSON.stringify(each)),
        );
        await expect(act(client)).rejects.toMatchObject({
          code: 'SERVER_UNREACHABLE',
          message: expect.stringContaining('no Skillbox server'),
        });
        expect(requests.length).toBe(1);
      }
  });

  it('an answer without an end does not fill the memory', async () => {
    let sent = 0;
    const endless = at.through(async () => {
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        sent += 65536;
        if (sent > 32 * 1024 ** 2) controller.close();
        else controller.enqueue(new Uint8Array(65536).fill(0x20));
      };
      return new Response(new ReadableStream({ pull }), { status: 500 });
    });
    await expect(endless.client.whoAmI()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(sent).toBeLessThan(4 * 1024 ** 2);
  });

  it('a text that breaks off, and a server that sends its callers elsewhere, are told as that', async () => {
    const broken = at.through(async () => {
      const body = new ReadableStream({ pull: controller => controller.error(new TypeError('terminated')) });
      return new Response(body, { headers: { 'content-type': 'text/plain' } });
    });
    const render = { format: 'xml', budget: null, query: null };
    await expect(broken.client.catalog.render(render)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    const moved = createServer((_asked, given) => given.writeHead(301, { location: 'https://elsewhere' }).end());
    await new Promise<void>(done => moved.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(moved.address() as AddressInfo).port}`;
    await expect(createClient({ url, key, retries: 0 }).whoAmI()).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('sends its callers to another address'),
      hint: expect.stringContaining('https'),
    });
    moved.closeAllConnections();
    await new Promise(done => moved.close(done));
  });

  it('never hold the key, a secret, or a password of the address', async () => {
    const lost = at.through(async () => Promise.reject(new TypeError('fetch failed')), { key: 'k3y-of-mine' });
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
    expect(() => createClient({ url: at.url, key: 'a\nb' })).toThrow('characters that no key has');
    expect(() => createClient({ url: at.url, key: 'a\nb' })).not.toThrow('a\nb');
  });

  it('what cannot be sent is told as that, and not as a server that does not answer', async () => {
    const { client, requests } = at.through((_asked, go) => go());
    const half = '\ud800';
    await expect(client.runs.get(half)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.runs.artifact('x', `a/${half}`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const usage = { code: 'USAGE' };
    for (const idempotencyKey of ['', 'ü', 'a b', 'a\nb', 'x'.repeat(256)])
      await expect(client.runs.start(request('hello'), { idempotencyKey })).rejects.toMatchObject(usage);
    const filter = { states: null, skill: null, limit: 10, after: null };
    for (const time of [Number.NaN, 8.7e15]) {
      await expect(client.runs.list({ ...filter, since: time })).rejects.toMatchObject(usage);
      const wish = { name: 'k', tenant: null, scopes: [], expiresAt: time };
      await expect(client.keys.create(wish)).rejects.toMatchObject(usage);
    }
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    for (const input of [circle, 10n]) await expect(client.run('hello', input as never)).rejects.toMatchObject(usage);
    for (const offset of [-1, 1.5, Number.NaN, 1e300])
      await expect(all(client.runs.follow('x', { offset, signal: null }))).rejects.toMatchObject(usage);
    expect(requests).toEqual([]);
  });

  it('a name that a URL would take for a step goes nowhere', async () => {
    const { client, requests } = at.through((_asked, go) => go());
    for (const name of ['..', '.', ''])
      await expect(client.skills.describe(name, null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.runs.artifact('x', '../../keys')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(requests).toEqual([]);
    await expect(client.skills.describe('a/../b?c#d', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(new URL(requests[0]?.url ?? '').pathname).toBe('/v1/skills/a%2F..%2Fb%3Fc%23d/latest');
  });

  it('does not carry the key to where it is sent on', async () => {
    const { client } = at.through(async asked => {
      expect(asked.redirect).toBe('error');
      return answer(200, { tenant: 'a', id: 'b', scopes: [], expires_at: null });
    });
    await client.whoAmI();
  });

  it('whoever gives up a run does so before its start is answered, too', async () => {
    const silent = at.through(
      (asked, _go) =>
        new Promise((_done, fail) => {
          asked.signal.addEventListener('abort', () => fail(asked.signal.reason));
        }),
    );
    const controller = new AbortController();
    const why = new Error('no time');
    const given = silent.client.run('hello', {}, { signal: controller.signal });
    setTimeout(() => controller.abort(why), 20);
    const late = new Promise(done => setTimeout(done, 2000, 'it goes on'));
    expect(await Promise.race([given.catch((error: unknown) => error), late])).toBe(why);
    expect(silent.requests.length).toBe(1);
    await silent.client.close();
  });

  it('closing ends what is under way', async () => {
    const client = createClient({ url: at.url, key });
    const { id } = await client.runs.start(request('slow-a'), { idempotencyKey: null });
    const waiting = client.runs.wait(id, { timeoutMs: null, signal: null });
    setTimeout(() => void client.close(), 20);
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELED' });
  });
});
