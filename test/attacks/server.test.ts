import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeZip } from '../skill/make-zip.ts';
import { type LiveServer, openLiveServer } from '../support/live-server.ts';
import { askingZip, zipOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';

describe.skipIf(NO_SANDBOX)('a server, attacked by those who have keys to it', { timeout: 60_000 }, () => {
  let live: LiveServer;
  let publisher = '';
  beforeAll(async () => {
    live = await openLiveServer();
    await live.makeTenant('alpha');
    await live.makeTenant('beta');
    publisher = (await live.makeKey('alpha', ['read', 'publish'])).key;
    expect((await live.ask(publisher, 'POST', '/v1/skills', { body: askingZip('asker') })).status).toBe(201);
  }, 60_000);
  afterAll(() => live?.close());

  const asks = { skill: 'asker', tool: 'say', arguments: { word: 'hi' } };
  const waiting = async (key: string): Promise<string> => {
    const { json, text } = await live.ask(key, 'POST', '/v1/executions', { body: asks });
    expect(json.state, text).toBe('waiting');
    return String(json.execution_id);
  };
  const answer = (key: string, run: string, word = 'once') =>
    live.ask(key, 'POST', `/v1/approvals/${run}`, { body: { answer: word } });

  describe('whoever asked for a run does not answer for it', () => {
    it('with the same key, a key made with it, or one made with that', async () => {
      const { key } = await live.makeKey('alpha', ['run', 'approve']);
      const run = await waiting(key);
      const make = async (by: string) =>
        String(
          (await live.ask(by, 'POST', '/v1/keys', { body: { name: 'x', scopes: ['run', 'approve'] } })).json.secret,
        );
      const second = await make(key);
      const third = await make(second);
      for (const each of [key, second, third]) {
        for (const word of ['once', 'always']) {
          const { status, json } = await answer(each, run, word);
          expect([status, json.error]).toEqual([403, 'ANSWER_REFUSED']);
        }
      }
      // And not the other way round.
      expect((await answer(key, await waiting(third))).json.error).toBe('ANSWER_REFUSED');
      const other = await live.makeKey('alpha', ['approve']);
      expect((await answer(other.key, run)).status).toBe(200);
    });

    it('by taking the key of one who may', async () => {
      const { key } = await live.makeKey('alpha', ['read', 'run', 'approve']);
      const other = await live.makeKey('alpha', ['approve']);
      const taken = await live.ask(key, 'POST', `/v1/keys/${other.id}/rotate`, { body: { overlap_seconds: 0 } });
      expect([taken.status, taken.json.error]).toEqual([403, 'FORBIDDEN']);
      expect((await live.ask(key, 'DELETE', `/v1/keys/${other.id}`)).status).toBe(403);
      expect((await answer(other.key, await waiting(key))).status).toBe(200);
    });
  });

  it('a caller names nothing of the machine that the server runs on', async () => {
    const { key } = await live.makeKey('alpha', ['read', 'run', 'publish']);
    const body = zipOf({ name: 'shows', body: 'env; pwd; ls /' });
    expect((await live.ask(key, 'POST', '/v1/skills', { body })).status).toBe(201);
    const start = (more: Record<string, unknown>) =>
      live.ask(key, 'POST', '/v1/executions', { body: { skill: 'shows', ...more } });
    for (const name of ['workspace', 'cwd', 'folder', 'path', 'mode', 'sandbox', 'caller_env', 'callerEnv', 'image'])
      expect([name, (await start({ [name]: live.data })).status]).toEqual([name, 400]);
    for (const more of [{ input_files: ['/etc/passwd'] }, { entrypoint: '/bin/sh' }, { session_id: '../x' }])
      expect([more, (await start(more)).status >= 400]).toEqual([more, true]);
    for (const skill of [live.data, './shows', '/etc', 'registry:shows', 'file:///etc', '../shows'])
      expect([skill, (await start({ skill })).status]).toEqual([skill, 404]);
    for (const name of ['LD_PRELOAD', 'PATH', 'BASH_ENV', 'SANDBOX_OUTPUT', 'HTTPS_PROXY', 'SKILLBOX_DATA_DIR'])
      expect([name, (await start({ env: { [name]: live.data } })).status]).toEqual([name, 400]);
    const { json } = await start({ env: { MINE: 'yes' } });
    expect(json.logs).toContain('MINE=yes');
    // Of the server's own environment nothing arrives.
    expect(json.logs).not.toContain(live.data);
  });

  it('nothing that a tenant reads says where the server keeps its files', async () => {
    const { key } = await live.makeKey('alpha', ['read', 'run', 'publish']);
    await live.ask(key, 'POST', '/v1/skills', { body: zipOf({ name: 'plain', body: 'echo hi' }) });
    const run = await live.ask(key, 'POST', '/v1/executions', { body: { skill: 'plain' } });
    expect(run.json.status, run.text).toBe('success');
    const asked = { body: { skill: 'plain' } };
    for (const answer of [
      run,
      await live.ask(key, 'GET', '/v1/audit?limit=500'),
      await live.ask(key, 'POST', '/v1/executions/plan', asked),
      await live.ask(key, 'POST', '/v1/policy/explain', asked),
      await live.ask(key, 'POST', '/v1/skills/plain/1.0.0/activate'),
      await live.ask(key, 'GET', '/v1/catalog?format=json'),
      await live.ask(key, 'GET', '/v1/providers'),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain(live.data);
    }
  });

  it('what waits for a person is bounded, and what it holds counts as kept', async () => {
    await live.makeTenant('small', { queued: 3, storage_bytes: 100_000 });
    const { key } = await live.makeKey('small', ['read', 'run', 'publish', 'approve']);
    expect((await live.ask(key, 'POST', '/v1/skills', { body: askingZip('asker') })).status).toBe(201);
    const start = (stdin: string) => live.ask(key, 'POST', '/v1/executions', { body: { ...asks, stdin } });
    // More than there is room for does not fit, one by one or all at once.
    expect((await start('x'.repeat(100_000))).json.error).toBe('QUOTA_EXCEEDED');
    const many = await Promise.all(Array.from({ length: 8 }, () => start('x'.repeat(40_000))));
    expect(many.filter(({ status }) => status === 202)).toHaveLength(2);
    expect(many.filter(({ json }) => json.error === 'QUOTA_EXCEEDED')).toHaveLength(6);
    expect((await start('')).status).toBe(202);
    const full = await start('');
    expect([full.status, full.json.error]).toEqual([429, 'QUEUE_FULL']);
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('archives that come at once do not each find the same room', async () => {
    await live.makeTenant('narrow', { storage_bytes: 50_000 });
    const { key } = await live.makeKey('narrow', ['read', 'publish']);
    const noise = (n: number) => `${n} ${randomBytes(9000).toString('hex')}`;
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        live.ask(key, 'POST', '/v1/skills', { body: zipOf({ name: `big-${n}`, body: `# ${noise(n)}` }) }),
      ),
    );
    const kept = many.filter(({ status }) => status === 201).length;
    expect(kept).toBeGreaterThan(0);
    expect(new Set(many.map(({ status }) => status))).toEqual(new Set([201, 507]));
    const tenants = (await live.ask(live.root, 'GET', '/v1/tenants')).json.items as unknown as {
      name: string;
      usage: { storage_bytes: number };
    }[];
    expect(tenants.find(({ name }) => name === 'narrow')?.usage.storage_bytes).toBeLessThanOrEqual(50_000);
  });

  it('an archive counts with what it takes where it is unpacked', async () => {
    await live.makeTenant('packed', { storage_bytes: 2_000_000 });
    const { key } = await live.makeKey('packed', ['read', 'publish']);
    const head =
      '---\nname: hollow\nversion: 1.0.0\ndescription: Made for a test. Use when asked.\nlang: bash\n---\n\nDo it.\n';
    const lines = Array.from({ length: 300_000 }, (_, n) => `line ${n}`).join('\n');
    const body = makeZip([
      { name: 'SKILL.md', content: head },
      { name: 'scripts/main.sh', content: 'echo hi\n' },
      { name: 'data.txt', content: lines, method: 8 },
    ]);
    expect(body.length).toBeLessThan(1_000_000);
    expect((await live.ask(key, 'POST', '/v1/skills', { body })).json.error).toBe('QUOTA_EXCEEDED');
  });

  it('a tenant that is stopped is stopped, and so are the links that it gave', async () => {
    await live.makeTenant('gone');
    const { key } = await live.makeKey('gone', ['read', 'run', 'publish']);
    const body = zipOf({ name: 'leaver', body: 'echo x > "$SANDBOX_FILES_DIR/x.txt"' });
    expect((await live.ask(key, 'POST', '/v1/skills', { body })).status).toBe(201);
    const run = await live.ask(key, 'POST', '/v1/executions', { body: { skill: 'leaver' } });
    const { pathname, search } = new URL(String(run.json.files_url));
    expect((await live.ask(null, 'GET', `${pathname}${search}`)).status).toBe(200);
    await live.ask(live.root, 'PATCH', '/v1/tenants/gone', { body: { disabled: true } });
    expect((await live.ask(null, 'GET', `${pathname}${search}`)).json.error).toBe('LINK_REFUSED');
    expect((await live.ask(key, 'GET', '/v1/whoami')).status).toBe(403);
    await live.ask(live.root, 'PATCH', '/v1/tenants/gone', { body: { disabled: false } });
    expect((await live.ask(null, 'GET', `${pathname}${search}`)).status).toBe(200);
  });

  it('everything that changes something is in the chain of its tenant, under the key that asked', async () => {
    await live.makeTenant('told');
    const { id, key } = await live.makeKey('told', ['read', 'run', 'publish', 'approve', 'secrets']);
    const other = await live.makeKey('told', ['approve']);
    const ask = async (method: string, path: string, body?: unknown) => {
      // Whatever a caller says of who they are, the key says it.
      const headers = { 'x-actor': 'mallory', 'x-request-id': 'mallory' };
      const answer = await live.ask(key, method, path, { ...(body === undefined ? {} : { body }), headers });
      expect([path, answer.status < 300], answer.text).toEqual([path, true]);
      return answer.json;
    };
    await ask('POST', '/v1/skills?tag=stable', zipOf({ name: 'plain', body: 'echo hi' }));
    await ask('PUT', '/v1/skills/plain/tags/best', { version: '1.0.0' });
    await ask('DELETE', '/v1/skills/plain/tags/best');
    await ask('POST', '/v1/skills/plain/1.0.0/yank', { reason: 'x' });
    await ask('POST', '/v1/skills/plain/1.0.0/unyank');
    await ask('POST', '/v1/skills/plain/1.0.0/activate');
    await ask('PUT', '/v1/secrets/custom%2Fmine', { value: 'my-very-own-value' });
    await ask('DELETE', '/v1/secrets/custom%2Fmine');
    await ask('POST', '/v1/executions', { skill: 'plain' });
    await ask('POST', '/v1/skills', askingZip('asker'));
    const first = await ask('POST', '/v1/executions', asks);
    await ask('POST', `/v1/executions/${String(first.execution_id)}/cancel`);
    const second = await ask('POST', '/v1/executions', asks);
    expect((await answer(other.key, String(second.execution_id), 'deny-always')).status).toBe(200);
    const [given] = (await ask('GET', '/v1/answers')).items as { id: string }[];
    await ask('DELETE', `/v1/answers/${given?.id}`);
    const made = (await ask('POST', '/v1/keys', { name: 'x', scopes: ['read'] })).key as { id: string };
    await ask('POST', `/v1/keys/${made.id}/rotate`, { overlap_seconds: 0 });
    await ask('DELETE', `/v1/keys/${made.id}`);
    const entries = (await ask('GET', '/v1/audit?limit=500')).items as { type: string; actor: { id: string } }[];
    const byHer = new Set(entries.filter(({ actor }) => actor.id === id).map(({ type }) => type));
    expect([...byHer].sort()).toMatchInlineSnapshot(`
      [
        "approval.asked",
        "approval.revoked",
        "decision.made",
        "key.created",
        "key.revoked",
        "key.rotated",
        "run.accepted",
        "run.canceled",
        "run.ended",
        "run.started",
        "secret.removed",
        "secret.set",
        "skill.activated",
        "skill.published",
        "skill.tagged",
        "skill.untagged",
        "skill.unyanked",
        "skill.yanked",
      ]
    `);
    expect(JSON.stringify(entries)).not.toMatch(/mallory|my-very-own/);
    expect((await ask('GET', '/v1/audit/verify')).ok).toBe(true);
  });

  it('a key that was made with a key ends with it', async () => {
    const first = await live.makeKey('alpha', ['read']);
    const { json } = await live.ask(first.key, 'POST', '/v1/keys', { body: { name: 'x', scopes: ['read'] } });
    const second = String(json.secret);
    expect((await live.ask(second, 'GET', '/v1/whoami')).status).toBe(200);
    expect((await live.ask(live.root, 'DELETE', `/v1/keys/${first.id}`)).status).toBe(200);
    expect((await live.ask(second, 'GET', '/v1/whoami')).status).toBe(401);
  });
});
