import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { bytesOf } from '../support/record.ts';
import { askingZip, openService, startOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SAY = { target: { kind: 'tool' as const, name: 'say', arguments: { word: 'hello' } } };
const PAGE = { limit: 10, after: null };

/** A server whose tenant "one" has an answer that stands, under a seal that somebody has altered. */
async function altered(): Promise<string> {
  const server = await openService(['one', 'two']);
  for (const tenant of ['one', 'two']) {
    const asker = server.as(tenant);
    await asker.skills.publish(bytesOf(askingZip('asks', false)), { tags: [], version: null });
    const { id } = await asker.runs.start(startOf('asks', SAY), { idempotencyKey: null });
    await server.as(tenant, 'key-2').approvals.answer(id, 'always');
    await asker.runs.wait(id, { timeoutMs: 20_000, signal: null });
  }
  await server.close();
  const database = new DatabaseSync(join(server.data, 'skillbox.db'));
  database.exec(`UPDATE answers_seal SET body = json_set(body, '$.x', 1) WHERE tenant = 'one'`);
  database.close();
  return server.data;
}

describe.skipIf(NO_SANDBOX)('skillbox approve reset', () => {
  test('--tenant: a tenant of a server begins anew, by its operator on a terminal; others keep their answers', async () => {
    const data = await altered();
    const env = { SKILLBOX_DATA_DIR: data, HOME: tempDir('home') };
    const reset = (words: string[], more: object = {}) =>
      run(['approve', 'reset', ...words], { env: { ...env, ...more }, answers: [] });

    expect((await run(['approve', 'reset', '--tenant', 'one'], { env })).code).toBe(4);
    expect(await reset(['--tenant', 'nobody'])).toMatchObject({ code: 5, err: expect.stringContaining('"nobody"') });
    const before = await openService([], { data });
    await expect(before.as('one').approvals.answers(PAGE)).rejects.toMatchObject({ code: 'APPROVALS_ALTERED' });
    await before.close();

    expect(await reset(['--tenant', 'one'])).toMatchObject({ code: 0, out: expect.stringContaining('of one') });
    const after = await openService([], { data });
    expect(await after.as('one').approvals.answers(PAGE)).toEqual({ items: [], next: null });
    expect((await after.as('two').approvals.answers(PAGE)).items.length).toBe(1);
    const told = { types: ['approval.reset'], subject: null, since: null, ...PAGE };
    expect((await after.as('one').audit.list(told)).items).toMatchObject([{ actor: { channel: 'terminal' } }]);
    expect((await after.as('two').audit.list(told)).items).toEqual([]);
    await after.close();
  });

  test('forgets nothing here when a server is named: its answers are meant', async () => {
    const env = { SKILLBOX_DATA_DIR: tempDir('data'), HOME: tempDir('home') };
    for (const [words, more] of [
      [['--server', 'http://127.0.0.1:9'], {}],
      [[], { SKILLBOX_SERVER_URL: 'http://127.0.0.1:9' }],
    ] as const)
      expect(await run(['approve', 'reset', ...words], { env: { ...env, ...more }, answers: [] })).toMatchObject({
        code: 2,
        err: expect.stringContaining('--tenant'),
      });
  });
});
