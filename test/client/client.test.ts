import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { RunEvent } from '../../src/service/index.ts';
import { all, answer, push, read, request, serveClients } from './clients.ts';

const at = serveClients();

describe('the same as in process', () => {
  const inside = () => at.served.world.serviceFor({ tenant: 'acme', id: 'all', scopes: [], expiresAt: null });

  it('skills', async () => {
    const again = await push(at.service, 'hello');
    expect([again.created, again.skill.name]).toEqual([false, 'hello']);
    const page = { limit: 2, after: null };
    const filter = { query: null, tag: null, ...page };
    expect(await at.service.skills.list(filter)).toEqual({
      ...(await inside().skills.list(filter)),
      items: expect.any(Array),
    });
    const rest = await at.service.skills.list({ ...filter, after: '2' });
    expect([rest.items.length, rest.next]).toEqual([1, null]);
    expect(await at.service.skills.resolve('hello', null)).toMatchObject({ version: '1.0.0' });
    expect(await at.service.skills.describe('hello', '1.0.0')).toEqual(
      await inside().skills.describe('hello', '1.0.0'),
    );
    expect(await read((await at.service.skills.download('hello', null)).content)).toBe('skill hello 1.0.0\n');
    const file = await at.service.skills.file('hello', null, 'SKILL.md');
    expect([file.bytes, await read(file.content)]).toEqual([18, 'skill hello 1.0.0\n']);
    expect(file.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await at.service.skills.diff('hello', '1.0.0', '1.0.0')).toEqual(
      await inside().skills.diff('hello', '1.0.0', '1.0.0'),
    );
    expect((await at.service.skills.tag('hello', 'stable', '1.0.0')).tags).toEqual(['stable']);
    await at.service.skills.untag('hello', 'stable');
    expect((await at.service.skills.yank('hello', '1.0.0', 'bad')).yanked?.reason).toBe('bad');
    expect((await at.service.skills.versions('hello'))[0]?.yanked).not.toBeNull();
    expect((await at.service.skills.unyank('hello', '1.0.0')).yanked).toBeNull();
  });

  it('runs', async () => {
    const run = await at.service.runs.start(request('hello', { input: { a: [1] } }), { idempotencyKey: null });
    expect(run).toEqual(await inside().runs.get(run.id));
    expect(await at.service.runs.get(run.id)).toEqual(run);
    expect(await at.service.runs.wait(run.id, { timeoutMs: null, signal: null })).toEqual(run);
    expect(await at.service.runs.plan(request('hello'))).toEqual({ skill: 'hello', verdict: 'allow' });
    const filter = { states: ['success' as const], skill: 'hello', since: 5, limit: 10_000, after: null };
    expect((await at.service.runs.list(filter)).items).toEqual([{ ...run, output: null }]);
    expect(await at.service.runs.logs(run.id, 0)).toEqual(await inside().runs.logs(run.id, 0));
    const { artifact, content } = await at.service.runs.artifact(run.id, 'out/hello.html');
    expect([artifact, await read(content)]).toEqual([run.artifacts[0], 'hello']);
    expect(await read((await at.service.runs.artifact(run.id, null)).content)).toBe('not really a tar.gz');
    expect(await at.service.runs.artifactUrl(run.id, null, 60)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/blobs\//);
    expect(await at.service.runs.cancel(run.id)).toBe(false);
  });

  it('runs a skill from its start to its end in one call', async () => {
    const done = await at.service.run('hello', { a: 1 });
    expect([done.state, done]).toEqual(['success', await inside().runs.get(done.id)]);
    const { client, requests } = at.through((_, go) => go());
    expect((await client.run('wait-a', null, { version: '1.0.0', env: { A: 'b' } })).state).toBe('waiting');
    expect(await requests[0]?.json()).toMatchObject({ skill: 'wait-a', version: '1.0.0', env: { A: 'b' } });
    const signal = AbortSignal.timeout(50);
    await expect(at.service.run('slow-a', null, { signal })).rejects.toThrow();
  });

  it('waits, within a time, and until nobody wants to know', async () => {
    const { id } = await at.service.runs.start(request('slow-a'), { idempotencyKey: null });
    expect((await at.service.runs.wait(id, { timeoutMs: 30, signal: null })).state).toBe('running');
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 30);
    await expect(at.service.runs.wait(id, { timeoutMs: null, signal: control.signal })).rejects.toThrow('enough');
    expect(await at.service.runs.cancel(id)).toBe(true);
    const { id: other } = await at.service.runs.start(request('wait-a'), { idempotencyKey: null });
    expect((await at.service.runs.wait(other, { timeoutMs: null, signal: null })).state).toBe('waiting');
  });

  it('guards and people', async () => {
    const { id } = await createClient({ url: at.url, key: 'run' }).runs.start(request('wait-a'), {
      idempotencyKey: null,
    });
    expect((await at.service.approvals.waiting({ limit: 9, after: null })).items.map(run => run.id)).toEqual([id]);
    expect(await at.service.approvals.question(id)).toEqual({ command: ['bash', 'main.sh'] });
    expect((await at.service.approvals.answer(id, 'once')).state).toBe('queued');
    const [given] = (await at.service.approvals.answers({ limit: 9, after: null })).items;
    expect((await at.service.approvals.revoke(given?.id ?? '')).revokedAt).toBeGreaterThan(0);
    expect(await at.service.catalog.render({ format: 'xml', budget: 10, query: null })).toContain('hello');
    expect(await at.service.catalog.render({ format: 'json', budget: null, query: null })).toBe(
      '["hello","slow-a","wait-a"]',
    );
    expect((await at.service.catalog.activate('hello', null)).text).toBe('# hello');
    expect(await at.service.policy.explain({ skill: 'hello', version: null, target: { kind: 'main' } })).toMatchObject({
      verdict: 'allow',
    });
    expect((await at.service.secrets.set('TOKEN', 'v', ['a.example'])).hosts).toEqual(['a.example']);
    expect((await at.service.secrets.list()).map(({ name }) => name)).toEqual(['TOKEN']);
    await at.service.secrets.remove('TOKEN');
    expect(await at.service.providers.list()).toEqual(await inside().providers.list());
    const { key: made, secret } = await at.service.keys.create({
      name: 'k',
      tenant: null,
      scopes: ['read'],
      expiresAt: 4e12,
    });
    expect([made.expiresAt, secret.includes(made.id)]).toEqual([4e12, true]);
    expect((await at.service.keys.rotate(made.id, 5)).secret).not.toBe(secret);
    expect((await at.service.keys.list({ tenant: null, limit: 9, after: null })).items).toEqual([made]);
    expect((await at.service.keys.revoke(made.id)).revokedAt).not.toBeNull();
    const tenant = `t-${Date.now()}`;
    expect((await at.service.tenants.create(tenant, { running: 1 })).quotas.running).toBe(1);
    expect((await at.service.tenants.update(tenant, { quotas: null, disabled: true })).disabledAt).not.toBeNull();
    expect((await at.service.tenants.list({ limit: 500, after: null })).items.map(({ name }) => name)).toContain(
      tenant,
    );
    expect(
      (await at.service.audit.list({ types: ['skill.published'], subject: 'hello', since: 0, limit: 9, after: null }))
        .items.length,
    ).toBe(1);
    expect((await at.service.audit.verify()).ok).toBe(true);
    expect(await at.service.whoAmI()).toMatchObject({ tenant: 'acme', id: 'all' });
  });
});

describe('following', () => {
  const texts = (events: RunEvent[]) => events.map(event => (event.kind === 'log' ? event.line.text : event.run.state));

  it('brings every event once, also when the connection breaks again and again', async () => {
    const { id } = await at.service.runs.start(request('slow-a'), { idempotencyKey: null });
    const { client, requests } = at.through(async (_asked, go, count) => {
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
        at.served.world.print('acme', id, text);
        await new Promise(resolve => setTimeout(resolve, 15));
      }
      at.served.world.end('acme', id);
    })();
    const events = await all(client.runs.follow(id, { offset: 0, signal: null }));
    await writing;
    expect(texts(events)).toEqual(['running', ...written, 'success']);
    expect(requests.length).toBeGreaterThan(2);
    expect(texts(await all(at.service.runs.follow(id, { offset: 6, signal: null })))).toEqual(['7', '8', 'success']);
  });

  it('ends quietly when nobody wants to know any more, and with an error when it never comes to anything', async () => {
    const { id } = await at.service.runs.start(request('slow-a'), { idempotencyKey: null });
    const control = new AbortController();
    setTimeout(() => control.abort(), 50);
    expect(texts(await all(at.service.runs.follow(id, { offset: 0, signal: control.signal })))).toEqual(['running']);
    const { client } = at.through(async () => answer(200, ''));
    await expect(all(client.runs.follow(id, { offset: 0, signal: null }))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    await expect(all(at.service.runs.follow('nothing', { offset: 0, signal: null }))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('a run whose end was seen is not asked for again', async () => {
    const { id } = await at.service.runs.start(request('hello'), { idempotencyKey: null });
    expect(texts(await all(at.service.runs.follow(id, { offset: 0, signal: null })))).toEqual([
      'one\n',
      'two\n',
      'three\n',
      'success',
    ]);
  });
});
