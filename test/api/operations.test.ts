import { afterEach, describe, expect, it } from 'vitest';
import {
  type ApiServer,
  createLog,
  type LogLevel,
  type OperationsOptions,
  type ReadyCheck,
} from '../../src/api/index.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { as, serve } from './support.ts';

let server: ApiServer;
afterEach(() => server?.close());

const lines: Record<string, unknown>[] = [];
const start = async (operations: Partial<OperationsOptions> = {}, level: LogLevel = 'debug') => {
  lines.length = 0;
  server = await serve(
    api => {
      api.get('/v1/executions/:id/logs', { config: { scope: 'read' } }, async () => ({ ok: true }));
      api.post('/v1/things', { config: { scope: 'run' } }, async request => {
        request.runId = 'run-1';
        return { ok: true };
      });
      api.get('/v1/broken', { config: { scope: 'anyone' } }, () => {
        const cause = Object.assign(new Error('connect failed'), {
          request: { headers: { authorization: 'Bearer x' } },
        });
        throw new SkillboxError('BACKEND_UNAVAILABLE', 'db.internal does not answer', { cause });
      });
    },
    {
      log: createLog(level, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
      operations: { checks: [], metrics: 'admin', gauges: [], ...operations },
    },
  );
};

describe('/health and /ready', () => {
  const ready = async (...checks: ReadyCheck[]) => {
    await start({ checks });
    const answer = await server.inject('/ready');
    return [answer.statusCode, answer.json()];
  };

  it('are for anyone', async () => {
    await start();
    expect((await server.inject('/health')).json()).toEqual({ status: 'ok' });
    expect((await server.inject('/ready')).json()).toEqual({ status: 'ready', checks: {} });
  });

  it('say which back end is missing, and nothing else of it', async () => {
    const fails = { name: 'blobs', check: () => Promise.reject(new Error('403 from https://s3.internal')) };
    expect(await ready({ name: 'database', check: async () => undefined }, fails)).toEqual([
      503,
      { status: 'unavailable', checks: { database: 'ok', blobs: 'failed' } },
    ]);
    expect(lines.find(({ check }) => check === 'blobs')).toMatchObject({ level: 'warn' });
  });

  it('do not wait for one that never answers', { timeout: 10_000 }, async () => {
    const hangs = { name: 'database', check: () => new Promise<void>(() => undefined) };
    const [status, body] = await ready(hangs, { name: 'blobs', check: async () => undefined });
    expect([status, body]).toEqual([503, { status: 'unavailable', checks: { database: 'failed', blobs: 'ok' } }]);
  });

  it('many who ask at once ask the back ends once', async () => {
    let asked = 0;
    const check = async () => {
      asked += 1;
    };
    await start({ checks: [{ name: 'database', check }] });
    await Promise.all(Array.from({ length: 20 }, () => server.inject('/ready')));
    expect(asked).toBe(1);
  });

  it('tell that the server is stopping', async () => {
    await start();
    server.draining = true;
    expect((await server.inject('/health')).statusCode).toBe(200);
    const answer = await server.inject('/ready');
    expect([answer.statusCode, answer.json().status]).toEqual([503, 'stopping']);
    const other = await server.inject({ url: '/v1/executions/1/logs', headers: as('read') });
    expect([other.statusCode, other.json().error, other.headers['retry-after']]).toEqual([503, 'SHUTTING_DOWN', '1']);
  });
});

describe('/metrics', () => {
  it.each([
    ['admin', null, 401],
    ['admin', 'read+run', 403],
    ['admin', 'admin', 200],
    ['open', null, 200],
    ['off', 'admin', 404],
  ] as const)('%s: with %s %i', async (metrics, key, status) => {
    await start({ metrics });
    const answer = await server.inject({ url: '/metrics', headers: key === null ? {} : as(key) });
    expect(answer.statusCode).toBe(status);
  });

  it('count by route and status, never by path, tenant or made-up method', async () => {
    await start({ metrics: 'open', gauges: [{ name: 'skillbox_runs_queued', help: 'waiting', read: async () => 7 }] });
    for (const id of ['one', 'two'])
      await server.inject({ url: `/v1/executions/${id}/logs`, headers: as('read@acme') });
    await server.inject('/made/up/path');
    await server.inject({ method: 'PURGE' as 'GET', url: '/v1/things' });
    await server.inject({ url: '/v1/executions/one/logs', headers: as('wrong') });
    await server.inject({ url: '/v1/executions/one/logs', headers: { host: 'evil.example' } });
    const { body } = await server.inject('/metrics');
    expect(body).toContain('skillbox_http_requests_total{method="GET",route="/v1/executions/:id/logs",status="200"} 2');
    expect(body).toContain('skillbox_http_requests_total{method="GET",route="unknown",status="404"} 1');
    expect(body).toContain('skillbox_http_request_seconds_count{method="GET",route="/v1/executions/:id/logs"} 4');
    expect(body).toContain('skillbox_http_request_seconds_bucket{method="GET",route="unknown",le="+Inf"} 1');
    expect(body).toContain('skillbox_http_requests_open 1\n');
    expect(body).toContain('skillbox_http_refusals_total{code="UNAUTHENTICATED"} 1');
    expect(body).toContain('skillbox_http_refusals_total{code="ORIGIN_REFUSED"} 1');
    expect(body).toContain('skillbox_runs_queued 7');
    expect(body).toContain('process_cpu_seconds_total');
    for (const word of ['one', 'two', 'made', 'acme', 'PURGE']) expect(body, word).not.toContain(`"${word}`);
  });
});

describe('the log', () => {
  const requests = () => lines.filter(({ msg }) => msg === 'request');

  it('has one line for each request, with who asked and about which run', async () => {
    await start();
    const url = '/v1/executions/01hx/logs?signature=topsecret&token=abc';
    await server.inject({ url, headers: { ...as('read@acme'), 'x-request-id': 'req-7' } });
    await server.inject({ method: 'POST', url: '/v1/things', headers: as('run') });
    expect(requests()).toMatchObject([
      {
        level: 'debug',
        request_id: 'req-7',
        method: 'GET',
        route: '/v1/executions/:id/logs',
        path: '/v1/executions/01hx/logs',
        status: 200,
        tenant: 'acme',
        key: 'read',
        run: '01hx',
      },
      { level: 'info', route: '/v1/things', run: 'run-1', tenant: 'acme' },
    ]);
    expect(requests()[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  it('leaves out what changed nothing and went well, unless it is asked for', async () => {
    await start({}, 'info');
    await server.inject({ url: '/v1/executions/1/logs', headers: as('read') });
    await server.inject({ url: '/v1/executions/1/logs', headers: as('wrong') });
    await server.inject({ method: 'POST', url: '/v1/things', headers: as('run') });
    expect(requests().map(({ status, level }) => [status, level])).toEqual([
      [401, 'info'],
      [200, 'info'],
    ]);
  });

  it('holds no key, no body, no query, no header', async () => {
    await start();
    const payload = { password: 'hunter2-body' };
    const headers = { ...as('run'), cookie: 'hunter2-cookie' };
    await server.inject({ method: 'POST', url: '/v1/things?signature=hunter2-query', payload, headers });
    await server.inject({ url: '/v1/executions/1/logs', headers: as('hunter2-wrong') });
    await server.inject({ url: '/v1/broken?signature=hunter2-query', headers: as('hunter2-key') });
    const text = JSON.stringify(lines);
    expect(requests()).toHaveLength(3);
    for (const secret of ['hunter2', 'Bearer', 'authorization', 'cookie']) expect(text, secret).not.toContain(secret);
  });

  it('holds no key that somebody has put into a path, and still says which one it was', async () => {
    await start();
    const key = `sbx_${'0'.repeat(25)}x_${'hunter2'.repeat(8)}`;
    await server.inject({ method: 'DELETE', url: `/v1/keys/${key}`, headers: as('run') });
    await server.inject({ url: `/v1/executions/${key.replaceAll('_', '%5F')}/logs`, headers: as('read') });
    expect(requests().map(({ path }) => path)).toEqual([
      `/v1/keys/sbx_${'0'.repeat(25)}x_…`,
      `/v1/executions/sbx%5F${'0'.repeat(25)}x_…/logs`,
    ]);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  it('holds no value that somebody has put where the name of a secret belongs', async () => {
    await start();
    for (const name of ['sk-hunter2', 'custom%2Fhook', 'SK%2Fhunter2', 'custom%2Fhook/hunter2'])
      await server.inject({ method: 'PUT', url: `/v1/secrets/${name}`, headers: as('run'), payload: {} });
    expect(requests().map(({ path }) => path)).toEqual([
      '/v1/secrets/…',
      '/v1/secrets/custom%2Fhook',
      '/v1/secrets/…',
      '/v1/secrets/…',
    ]);
  });

  it('says what the answer does not', async () => {
    await start();
    const answer = await server.inject('/v1/broken');
    expect(answer.body).not.toContain('db.internal');
    const line = lines.find(({ msg }) => msg === 'a request failed');
    expect(line).toMatchObject({
      level: 'error',
      request_id: answer.headers['x-request-id'],
      err: {
        code: 'BACKEND_UNAVAILABLE',
        message: 'db.internal does not answer',
        cause: { message: 'connect failed' },
      },
    });
    expect(JSON.stringify(line)).not.toContain('Bearer');
  });
});
