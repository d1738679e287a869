import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waitPreference } from '../../src/api/prefer.ts';
import { as } from './support.ts';
import { listening, publish, type Served, serveWorld, start } from './world.ts';

let served: Served;
beforeAll(async () => {
  served = await serveWorld({ syncWaitMs: 60, maxLogChars: 1000 });
});
beforeEach(async () => {
  served.world.tenants.clear();
  for (const name of ['hello', 'fail-a', 'wait-a', 'slow-a']) await publish(served.server, name);
});
afterAll(() => served.server.close());

const post = (payload: object, headers: Record<string, string> = {}) =>
  served.server.inject({ method: 'POST', url: '/v1/executions', payload, headers: { ...as('run'), ...headers } });
const get = (url: string, headers: Record<string, string> = {}) =>
  served.server.inject({ url, headers: { ...as('read'), ...headers } });

describe('starting (SB-14)', () => {
  it('answers when the run has ended, also when it failed', async () => {
    const good = await post({ skill: 'hello', input: { a: 1 } });
    expect(good.statusCode).toBe(200);
    expect(good.json()).toMatchObject({
      status: 'success',
      state: 'success',
      output: { echo: { a: 1 } },
      logs: 'one\ntwo\nthree\n',
      logs_truncated: false,
      files_list: ['out/hello.html'],
      duration_ms: 7,
      error: null,
    });
    const bad = await post({ skill: 'fail-a' });
    expect([bad.statusCode, bad.json().status, bad.json().error, bad.json().error_code, bad.json().files_url]).toEqual([
      200,
      'failed',
      'it ended with exit code 3',
      'EXIT_CODE',
      null,
    ]);
  });

  it('answers 202 with pending when it waits for a person', async () => {
    const answer = await post({ skill: 'wait-a' });
    const { execution_id: id, status, state } = answer.json();
    expect([answer.statusCode, status, state]).toEqual([202, 'pending', 'waiting']);
    expect(answer.headers.location).toBe(`/v1/executions/${id}`);
  });

  it('answers 202 at once, or after a time, for whoever does not want to wait', async () => {
    const now = await post({ skill: 'hello' }, { prefer: 'respond-async' });
    expect([now.statusCode, now.headers['preference-applied']]).toEqual([200, 'respond-async']);
    const soon = await post({ skill: 'slow-a' }, { prefer: 'respond-async' });
    expect([soon.statusCode, soon.json().status]).toEqual([202, 'running']);
    const later = await post({ skill: 'slow-a' }, { prefer: 'wait=0' });
    expect([later.statusCode, later.headers['preference-applied']]).toEqual([202, 'wait=0']);
    expect((await post({ skill: 'slow-a' })).statusCode).toBe(202);
  });

  it('the same key with the same request is the same run, with another it is refused', async () => {
    const first = await post({ skill: 'hello', input: 1 }, { 'idempotency-key': 'k1' });
    const again = await post({ skill: 'hello', input: 1 }, { 'idempotency-key': 'k1' });
    expect(again.json().execution_id).toBe(first.json().execution_id);
    const other = await post({ skill: 'hello', input: 2 }, { 'idempotency-key': 'k1' });
    expect([other.statusCode, other.json().error]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    expect((await post({ skill: 'hello' }, { 'idempotency-key': 'with space' })).statusCode).toBe(400);
  });

  it.each([
    [{ skill: 'hello', tool: 'count', arguments: { a: 1 } }, 200],
    [{ skill: 'hello', script: 'main.sh', arguments: ['-x'] }, 200],
    [{ skill: 'hello', tool: 'count', script: 'main.sh' }, 400],
    [{ skill: 'hello', tool: 'count', arguments: ['-x'] }, 400],
    [{ skill: 'hello', script: 'main.sh', arguments: { a: 1 } }, 400],
    [{ skill: 'hello', arguments: {} }, 400],
    [{ skill: 'hello', version: '', env: null, input_files: [], session_id: '', entrypoint: '' }, 200],
    [{ skill: 'hello', version: 'latest' }, 200],
    [{ skill: 'hello', version: '9.9.9' }, 404],
    [{ skill: 'hello', session_id: 'a' }, 422],
    [{ skill: 'hello', more: 1 }, 400],
  ])('%j: %i', async (payload, status) => {
    expect((await post(payload)).statusCode).toBe(status);
  });

  it('a run goes on when whoever waited for it is gone', async () => {
    const served_ = await serveWorld({ syncWaitMs: 30_000 });
    await publish(served_.server, 'slow-a');
    const url = await listening(served_.server);
    const gone = new AbortController();
    const body = JSON.stringify({ skill: 'slow-a' });
    const headers = { 'content-type': 'application/json', ...as('run') };
    const asked = fetch(`${url}/v1/executions`, { method: 'POST', body, headers, signal: gone.signal });
    const runs = served_.world.tenant('acme').runs;
    await expect.poll(() => runs.size).toBe(1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await new Promise(resolve => setTimeout(resolve, 50));
    expect([...runs.values()].map(({ state }) => state)).toEqual(['running']);
    expect(served_.world.calls.filter(call => call.endsWith('cancel'))).toEqual([]);
    await served_.server.close();
  });
});

describe('looking', () => {
  it('lists by state, skill and time, part by part, without outputs', async () => {
    for (const skill of ['hello', 'hello', 'fail-a', 'slow-a']) await start(served.server, skill);
    const all = (await get('/v1/executions')).json();
    expect(all.items.map((each: { state: string }) => each.state)).toEqual(['running', 'failed', 'success', 'success']);
    expect(all.items[3]).not.toHaveProperty('output');
    const two = (await get('/v1/executions?limit=3')).json();
    const rest = (await get(`/v1/executions?limit=3&after=${two.next}`)).json();
    expect([two.items.length, rest.items.length, rest.next]).toEqual([3, 1, null]);
    expect((await get('/v1/executions?state=failed&state=running')).json().items.length).toBe(2);
    expect((await get('/v1/executions?skill=fail-a')).json().items.length).toBe(1);
    expect((await get('/v1/executions?since=2999-01-01T00:00:00Z')).json().items).toEqual([]);
    for (const bad of ['state=odd', 'limit=0', 'limit=501', 'limit=x', 'since=today', 'more=1'])
      expect([bad, (await get(`/v1/executions?${bad}`)).statusCode]).toEqual([bad, 400]);
  });

  it('waits for the end when asked to', async () => {
    const id = await start(served.server, 'slow-a');
    setTimeout(() => served.world.end('acme', id), 30);
    expect((await get(`/v1/executions/${id}?wait_ms=5000`)).json().status).toBe('success');
    expect((await get(`/v1/executions/${id}?logs=false`)).json().logs).toBe('');
  });

  it('what it printed: text for the published clients, lines for others, and a bound inside of other answers', async () => {
    const id = await start(served.server, 'slow-a');
    for (let i = 0; i < 30; i++) served.world.print('acme', id, `${'é'.repeat(49)}\n`);
    const text = await get(`/v1/executions/${id}/logs`);
    expect([text.headers['content-type'], text.body.length]).toEqual(['text/plain; charset=utf-8', 1500]);
    const { logs, logs_truncated: cut } = (await get(`/v1/executions/${id}`)).json();
    expect([logs.length, cut]).toEqual([1000, true]);
    const json = { accept: 'application/json' };
    const part = (await get(`/v1/executions/${id}/logs?offset=28`, json)).json();
    expect([part.lines.length, part.offset, part.complete]).toEqual([2, 30, false]);
    expect(part.lines[0]).toEqual({ stream: 'stdout', time: expect.any(String), text: `${'é'.repeat(49)}\n` });
    expect((await get(`/v1/executions/${id}/logs?offset=99`)).body).toBe('');
  });

  it('what a run printed whose server was killed: nobody has measured it', async () => {
    const id = await start(served.server, 'slow-a');
    served.world.print('acme', id, 'so far\n');
    const error = { code: 'INTERRUPTED', message: 'the process that ran it died' };
    served.world.end('acme', id, { state: 'failed', exitCode: null, error, logBytes: 0 });
    expect((await get(`/v1/executions/${id}`)).json()).toMatchObject({ logs: 'so far\n', logs_truncated: false });
  });

  it('ends once', async () => {
    const id = await start(served.server, 'slow-a');
    const cancel = () =>
      served.server.inject({ method: 'POST', url: `/v1/executions/${id}/cancel`, headers: as('run') });
    expect([(await cancel()).json(), (await cancel()).json()]).toEqual([{ canceled: true }, { canceled: false }]);
  });
});

describe('files (SB-09)', () => {
  it('are saved and never shown, whatever they hold', async () => {
    const id = await start(served.server, 'hello');
    const file = await get(`/v1/executions/${id}/artifacts/out/hello.html`);
    expect([file.body, file.headers['content-type']]).toEqual(['hello', 'application/octet-stream']);
    expect(file.headers).toMatchObject({
      'content-disposition': `attachment; filename="hello.html"; filename*=UTF-8''hello.html`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      'content-length': '5',
      etag: '"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"',
    });
    const all = await get(`/v1/executions/${id}/artifacts.tar.gz`);
    expect([all.headers['content-type'], all.body]).toEqual(['application/gzip', 'not really a tar.gz']);
  });

  it('have URLs that are signed when they are asked for, and name this server', async () => {
    const id = await start(served.server, 'hello');
    const { url, expires_at: until } = (await get(`/v1/executions/${id}/artifact-url?seconds=60`)).json();
    expect(url).toMatch(/^http:\/\/localhost(:80)?\/v1\/blobs\/[0-9a-f]{64}\?seconds=60$/);
    expect(Date.parse(until) - Date.now()).toBeLessThan(61_000);
    const moved = await get(`/v1/executions/${id}/artifacts.tar.gz?redirect=true`);
    expect([moved.statusCode, moved.headers.location]).toEqual([302, expect.stringContaining('/v1/blobs/')]);
  });
});

it.each([
  [undefined, 60, null],
  ['respond-async', 0, 'respond-async'],
  ['return=minimal, Respond-Async; x=1', 0, 'respond-async'],
  ['wait=5', 60, 'wait=5'],
  ['wait="0"', 0, 'wait=0'],
  ['wait=soon', 60, null],
  ['respond-asynchronous', 60, null],
])('Prefer: %s', (header, ms, applied) => {
  expect(waitPreference(header, 60)).toEqual({ ms, applied });
});

it('a tenant that is named must be that of the key', async () => {
  expect((await get('/v1/skills', { 'x-tenant-id': 'acme' })).statusCode).toBe(200);
  const other = await get('/v1/skills', { 'x-tenant-id': 'beta' });
  expect([other.statusCode, other.json().error]).toEqual([403, 'FORBIDDEN']);
});
