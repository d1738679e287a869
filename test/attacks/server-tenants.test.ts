import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answered, type LiveServer, openLiveServer } from '../support/live-server.ts';
import { askingZip, zipOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';

const EVERYTHING = ['read', 'run', 'publish', 'approve', 'secrets'] as const;
/** What there is one of for everybody, or nothing of a tenant's is named. */
/** Speaks a protocol of its own: two tenants at it are in test/mcp/server.test.ts. */
const ELSEWHERE = ['mcp'];
const OPEN = ['whoAmI', 'listProviders', 'fetchLink', 'createKey', 'publishSkill', 'verifyAudit', 'setSecret'];
const ADMINS = ['createTenant', 'listTenants', 'updateTenant'];
const BODIES: Record<string, unknown> = {
  createExecution: { skill: 'only-alpha' },
  planExecution: { skill: 'only-alpha' },
  explainPolicy: { skill: 'only-alpha' },
  yankSkill: { reason: 'because' },
  tagSkill: { version: '1.0.0' },
  answerQuestion: { answer: 'once' },
  rotateKey: { overlap_seconds: 0 },
};
const QUERIES: Record<string, string> = { diffSkill: '?to=1.0.0', listAudit: '?limit=500', listKeys: '?limit=500' };

describe.skipIf(NO_SANDBOX)('two tenants of one server', { timeout: 60_000 }, () => {
  let live: LiveServer;
  let hers = '';
  let his = '';
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    live = await openLiveServer();
    for (const tenant of ['alpha', 'beta']) await live.makeTenant(tenant);
    const made = await live.makeKey('alpha', EVERYTHING);
    hers = made.key;
    his = (await live.makeKey('beta', EVERYTHING)).key;
    const other = (await live.makeKey('alpha', ['approve'])).key;
    const body = zipOf({ name: 'only-alpha', body: 'echo its-log; echo x > "$SANDBOX_FILES_DIR/x.txt"' });
    await live.ask(hers, 'POST', '/v1/skills?tag=stable', { body });
    await live.ask(hers, 'POST', '/v1/skills', { body: askingZip('asker') });
    await live.ask(hers, 'PUT', '/v1/secrets/custom%2Falpha-key', { body: { value: 'her-very-own-value' } });
    const run = await live.ask(hers, 'POST', '/v1/executions', { body: { skill: 'only-alpha' } });
    const asks = { body: { skill: 'asker', tool: 'say', arguments: { word: 'hi' } } };
    const answered = await live.ask(hers, 'POST', '/v1/executions', asks);
    const waiting = await live.ask(hers, 'POST', '/v1/executions', {
      body: { skill: 'asker', tool: 'say', arguments: { word: 'ho' } },
    });
    await live.ask(other, 'POST', `/v1/approvals/${String(answered.json.execution_id)}`, {
      body: { answer: 'deny-always' },
    });
    const answers = (await live.ask(hers, 'GET', '/v1/answers')).json.items as { id: string }[];
    ids.executions = String(run.json.execution_id);
    ids.approvals = String(waiting.json.execution_id);
    ids.answers = String(answers[0]?.id);
    ids.keys = made.id;
    expect(Object.values(ids)).not.toContain('undefined');
  }, 60_000);
  afterAll(() => live?.close());

  type Operation = { id: string; method: string; path: string };
  const operations = async (): Promise<Operation[]> => {
    const { paths } = (await live.ask(null, 'GET', '/openapi.json')).json as {
      paths: Record<string, Record<string, { operationId?: string }>>;
    };
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId: id }]) =>
        id === undefined ? [] : [{ id, method: method.toUpperCase(), path }],
      ),
    );
  };
  const ask = (key: string, { id, method, path }: Operation): Promise<Answered> => {
    const filled = path
      .replace('{id}', ids[path.split('/')[2] ?? ''] ?? 'none')
      .replace('{name}', path.startsWith('/v1/secrets') ? 'custom%2Falpha-key' : 'only-alpha')
      .replace('{version}', '1.0.0')
      .replace('{tag}', 'stable')
      .replace('{path}', path.includes('artifacts') ? 'x.txt' : 'SKILL.md');
    const body = BODIES[id];
    return live.ask(key, method, `${filled}${QUERIES[id] ?? ''}`, body === undefined ? {} : { body });
  };

  it('with a key of the one nothing of the other is found, listed or changed, on any route', async () => {
    const crossed: string[] = [];
    for (const operation of await operations()) {
      const { id, path, method } = operation;
      if (OPEN.includes(id) || ELSEWHERE.includes(id)) continue;
      const answer = await ask(his, operation);
      if (ADMINS.includes(id)) expect([id, answer.status]).toEqual([id, method === 'GET' ? 403 : answer.status]);
      else if (path.includes('{') || BODIES[id] !== undefined) expect([id, answer.status]).toEqual([id, 404]);
      else {
        expect([id, answer.status]).toEqual([id, 200]);
        expect([id, /alpha|asker|her-very|its-log/.test(answer.text)]).toEqual([id, false]);
      }
      crossed.push(id);
    }
    expect(crossed.length).toBeGreaterThan(40);
    // Everything is still there for her: what was not found was not for want of it. What reads goes before what changes.
    const all = (await operations()).filter(({ id }) => ![...OPEN, ...ELSEWHERE, ...ADMINS].includes(id));
    const reading = all.filter(({ method }) => method === 'GET');
    const changing = ['cancelExecution', 'answerQuestion', 'revokeAnswer', 'removeSecret', 'untagSkill', 'yankSkill'];
    for (const operation of [...reading, ...all.filter(({ id }) => changing.includes(id))])
      expect([operation.id, [200, 204, 403].includes((await ask(hers, operation)).status)]).toEqual([
        operation.id,
        true,
      ]);
  });

  it('no name makes one tenant another, and nobody gets to be the user of the machine', async () => {
    for (const name of [
      '',
      ' ',
      '..',
      '../alpha',
      'Alpha',
      'alpha ',
      'alpha\u0000',
      '\u0430lpha',
      '__proto__',
      'a/b',
      '%00',
    ])
      expect([name, (await live.ask(live.root, 'POST', '/v1/tenants', { body: { name } })).status]).toEqual([
        name,
        400,
      ]);
    for (const tenant of ['', 'beta ', 'BETA', null]) {
      const asked = { body: { name: 'x', scopes: ['read'], ...(tenant === null ? {} : { tenant }) } };
      const { status, json } = await live.ask(his, 'POST', '/v1/keys', asked);
      if (tenant !== null) expect([tenant, status === 201]).toEqual([tenant, false]);
      else expect((json.key as { tenant: string }).tenant).toBe('beta');
    }
    for (const header of ['alpha', '', 'beta,alpha'])
      expect((await live.ask(his, 'GET', '/v1/whoami', { headers: { 'x-tenant-id': header } })).status).toBe(403);
  });
});
