import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LiveServer, openLiveServer } from '../support/live-server.ts';
import { clearPlaces, newPlace, noPostgres } from '../support/postgres.ts';
import { askingZip, zipOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();
clearPlaces();

/** What databases, patterns, headers and paths stumble over. */
const HOSTILE = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  "'; DROP TABLE runs; --",
  '%',
  '_%',
  '\\',
  '"*',
  'a" OR name:b NEAR(',
  '../../etc/passwd',
  '/etc/passwd',
  '\r\nset-cookie: a=b',
  '\u202e\u2066',
  '__proto__',
  'constructor',
  '{"$ne":null}',
  '$1',
  '(?:a+)+$',
  '\u{1f600}'.repeat(60),
  '9'.repeat(30),
  '-1',
  'NaN',
  '',
  ' ',
];
const PATHS = [
  'skills?q=',
  'skills?tag=',
  'skills?after=',
  'executions?skill=',
  'executions?after=',
  'executions?state=',
  'audit?subject=',
  'audit?type=',
  'audit?after=',
  'audit?since=',
  'keys?after=',
  'keys?tenant=',
  'tenants?after=',
  'approvals?after=',
  'answers?after=',
  'catalog?q=',
  'catalog?format=',
  'executions/',
  'approvals/',
  'skills/plain/',
  'skills/plain/1.0.0/files/',
  'skills/plain/1.0.0/files?path=',
  'skills/plain/diff?to=',
  'blobs/',
];

async function tryAll(live: LiveServer): Promise<string[]> {
  const key = live.root;
  const wrong: string[] = [];
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await live.ask(key, method, path, { ...(body === undefined ? {} : { body }), headers });
    const leaks = answer.text.includes(live.data) || /SQLITE|syntax error|\bat .*\.ts:/.test(answer.text);
    if (answer.status >= 500 || leaks) wrong.push(`${method} ${path} ${JSON.stringify(body)}: ${answer.text}`);
    return answer;
  };
  for (const text of HOSTILE) {
    const word = encodeURIComponent(text.toWellFormed());
    for (const path of PATHS) await ask('GET', `/v1/${path}${word}`);
    for (const id of ['executions', 'approvals', 'keys', 'answers']) await ask('DELETE', `/v1/${id}/${word}`);
    await ask('POST', '/v1/keys', { name: text, scopes: ['read'] });
    await ask('POST', '/v1/keys', { name: 'x', scopes: ['read'], tenant: text });
    await ask('POST', '/v1/tenants', { name: text });
    await ask('PATCH', `/v1/tenants/${word}`, { disabled: true });
    await ask('PUT', `/v1/secrets/${word}`, { value: text });
    await ask('PUT', `/v1/secrets/custom%2F${word}`, { value: 'a value', hosts: [text] });
    await ask('PUT', '/v1/secrets/custom%2Fgood', { value: `${text}-and-more` });
    await ask('POST', '/v1/skills/plain/1.0.0/yank', { reason: text });
    await ask('POST', '/v1/skills/plain/1.0.0/unyank');
    await ask('PUT', `/v1/skills/plain/tags/${word}`, { version: '1.0.0' });
    await ask('PUT', '/v1/skills/plain/tags/good', { version: text });
    await ask('POST', `/v1/skills?version=${word}&tag=${word}`, zipOf({ name: 'other', body: 'true' }));
    await ask('POST', '/v1/executions', { skill: text });
    await ask('POST', '/v1/executions', { skill: 'plain', version: text });
    // Kept with a run that waits, so it goes into the database and comes back.
    const asks = { skill: 'asker', tool: 'say', arguments: { word: text }, stdin: text, input: { [text]: text } };
    const waits = await ask('POST', '/v1/executions', asks, { 'idempotency-key': `k-${HOSTILE.indexOf(text)}` });
    if (waits.status === 202) {
      await ask('GET', `/v1/approvals/${String(waits.json.execution_id)}`);
      const again = await ask('POST', '/v1/executions', asks, { 'idempotency-key': `k-${HOSTILE.indexOf(text)}` });
      if (again.json.execution_id !== waits.json.execution_id) wrong.push(`another run for ${JSON.stringify(text)}`);
    }
    await ask('POST', '/v1/executions', { skill: 'plain', env: { [text]: text } });
    await ask('POST', '/v1/policy/explain', { skill: 'plain', tool: text });
  }
  const ran = await ask('POST', '/v1/executions', { skill: 'echoes', stdin: HOSTILE.join('|'), input: HOSTILE });
  if (ran.json.status !== 'success') wrong.push(`echoes: ${ran.text}`);
  const verified = await ask('GET', '/v1/audit/verify');
  if (verified.json.ok !== true) wrong.push(verified.text);
  return wrong;
}

async function furnish(live: LiveServer): Promise<void> {
  onTestFinished(() => live.close());
  const body = 'import sys\nsys.stdout.write(sys.stdin.read())\n';
  for (const archive of [
    zipOf({ name: 'plain', body: 'echo hi' }),
    zipOf({ name: 'echoes', lang: 'python', body }),
    askingZip('asker'),
  ])
    expect((await live.ask(live.root, 'POST', '/v1/skills', { body: archive })).status).toBe(201);
}

describe.skipIf(NO_SANDBOX)('hostile text', { timeout: 120_000 }, () => {
  it('finds no fault of a server on SQLite', async () => {
    const live = await openLiveServer({ SKILLBOX_QUOTAS_REQUESTS_PER_MINUTE: '100000' });
    await furnish(live);
    expect(await tryAll(live)).toEqual([]);
    expect(live.log()).not.toContain('a request failed');
  });

  it.skipIf(noPostgres !== null)('finds no fault of a server on PostgreSQL', async () => {
    const place = await newPlace();
    const live = await openLiveServer({
      SKILLBOX_QUOTAS_REQUESTS_PER_MINUTE: '100000',
      SKILLBOX_STORE_POSTGRES_URL: place.url,
      SKILLBOX_MASTER_KEY: randomBytes(32).toString('base64'),
    });
    await furnish(live);
    expect(await tryAll(live)).toEqual([]);
    expect(live.log()).not.toContain('a request failed');
  });
});
