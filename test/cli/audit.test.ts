import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { parseInput } from '../../src/cli/command.ts';
import { auditList } from '../../src/cli/commands/audit-list.ts';
import { openStore } from '../../src/store/index.ts';
import { run } from '../fake-io.ts';
import { newEvent } from '../support/events.ts';
import { breaksJournal } from '../support/journals.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

async function withEntries(): Promise<{ data: string; audit: (...words: string[]) => ReturnType<typeof run> }> {
  const data = tempDir('audit');
  const store = openStore(data, WRITER);
  await store.journal.append(
    newEvent({ type: 'trust.added', subject: 'first' }),
    newEvent({ type: 'run.accepted', subject: 'second', data: { argv: ['\u001b[31mred\u202e'] } }),
    newEvent({ type: 'run.ended', subject: 'second', tenant: 'acme' }),
  );
  await store.close();
  return { data, audit: (...words) => run(['audit', ...words], { env: { SKILLBOX_DATA_DIR: data }, cwd: data }) };
}

const lines = (text: string) => text.split('\n').slice(0, -1);

describe('skillbox audit list', () => {
  test('shows the newest entries in order, and hides nothing that a skill wrote', async () => {
    const { audit } = await withEntries();
    const { code, out } = await audit('list');
    expect(code).toBe(0);
    expect(lines(out).map(line => line.split(/ {2,}/)[2])).toEqual(['trust.added', 'run.accepted', 'run.ended']);
    expect(out).not.toMatch(/\u001b|\u202e/);
    expect(out).toContain('of acme');
    expect(lines((await audit('list', '--limit', '1')).out)).toHaveLength(1);
  });

  test('what happened to secrets is told in words: as JSON the part that matters was cut off', async () => {
    const { data, audit } = await withEntries();
    const skill = { name: 'probe', digest: `sb1-sha256:${'0'.repeat(64)}` };
    const called = {
      capability: 'acme/orders.read',
      method: 'GET',
      host: 'orders.acme.example',
      path: '/v1/orders',
      status: 200,
      sent: 0,
      received: 2048,
      tokens: 12,
      durationMs: 23,
      skill,
    };
    const refused = {
      capability: null,
      method: 'GET',
      host: 'evil.example',
      reason: 'evil\u001b[31m is not granted',
      skill,
    };
    const store = openStore(data, WRITER);
    await store.journal.append(
      newEvent({
        type: 'token.minted',
        data: { skill, capabilities: ['acme/orders.read', 'custom/a'], carriesOut: ['custom/a'], expires: 0 },
      }),
      newEvent({ type: 'token.refused', data: { skill, capability: 'custom/b', reason: 'SECRET_MISSING' } }),
      newEvent({ type: 'broker.called', data: called }),
      newEvent({ type: 'broker.called', data: { ...called, status: null, received: 0, tokens: null } }),
      newEvent({ type: 'broker.refused', data: refused }),
      newEvent({
        type: 'broker.failed',
        data: { capability: 'acme/orders.read', host: 'a.example', reason: 'gone', skill },
      }),
      newEvent({
        type: 'broker.failed',
        data: { capability: null, host: 'a.example', reason: 'a.example is gone', skill },
      }),
      newEvent({ type: 'secret.released', data: { secret: 'custom/a', capability: 'custom/a', skill } }),
      newEvent({ type: 'token.revoked', data: {} }),
      newEvent({ type: 'token.minted', data: { skill, capabilities: [], carriesOut: [], expires: 0 } }),
      // Of an older Skillbox, or of whoever wrote into the file.
      newEvent({ type: 'broker.called', data: {} }),
    );
    await store.close();
    const { code, out } = await audit('list', '--limit', '11');
    expect(code).toBe(0);
    expect(out).not.toContain('\u001b');
    expect(lines(out).map(line => line.split(/ {2,}/)[5] ?? '')).toEqual([
      'for acme/orders.read, custom/a; can carry data out by custom/a, until 00:00:00',
      'SECRET_MISSING (custom/b)',
      'GET orders.acme.example/v1/orders: 200, 2 KiB, 12 tokens, 23 ms (acme/orders.read)',
      'GET orders.acme.example/v1/orders: no answer, 0 B, 23 ms (acme/orders.read)',
      expect.stringMatching(/^GET evil\.example: evil.* is not granted$/),
      'a.example: gone (acme/orders.read)',
      'a.example is gone',
      'custom/a',
      '',
      'for nothing, until 00:00:00',
      expect.any(String),
    ]);
  });

  test('--json prints one document of whole entries', async () => {
    const { audit } = await withEntries();
    const { entries } = JSON.parse((await audit('list', '--json')).out);
    expect(entries).toHaveLength(3);
    expect(Object.keys(entries[0])).toEqual([
      'chain',
      'seq',
      'time',
      'type',
      'actor',
      'tenant',
      'subject',
      'data',
      'prev',
      'hash',
    ]);
  });

  test.each([
    [
      ['--type', 'run'],
      ['second', 'second'],
    ],
    [
      ['--type', 'run.ended', '--type', 'trust.added'],
      ['first', 'second'],
    ],
    [['--subject', 'first'], ['first']],
    [
      ['--since', '1h'],
      ['first', 'second', 'second'],
    ],
    [['--until', '2020-01-01'], []],
    [['--since', '2020-01-01T00:00Z', '--until', '2020-01-02 00:00'], []],
  ])('%j', async (words, subjects) => {
    const { audit } = await withEntries();
    const { entries } = JSON.parse((await audit('list', '--json', ...words)).out);
    expect(entries.map((entry: { subject: string }) => entry.subject)).toEqual(subjects);
  });

  test.each([
    [['--type', 'run.endet'], 'did you mean run.ended?'],
    [['--since', 'yesterday'], 'neither a date'],
    [['--since', '2020-13-45'], 'neither a date'],
    [['--limit', '0'], 'from 1'],
    [['--run', 'a', '--subject', 'b'], 'not both'],
  ])('%j is a usage error', async (words, said) => {
    const { audit } = await withEntries();
    const { code, err } = await audit('list', ...words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  test('--run wants a run that there is', async () => {
    const { audit } = await withEntries();
    expect((await audit('list', '--run', 'nothing')).code).toBe(5);
  });

  test('--follow prints what comes, one JSON object on each line, until it is interrupted', async () => {
    const { data } = await withEntries();
    const stop = new AbortController();
    let out = '';
    const following = auditList.run(parseInput(auditList, ['--follow', '--json', '--limit', '1']), {
      out: text => {
        out += text;
      },
      err: () => undefined,
      paint: (_style, text) => text,
      interactive: false,
      cwd: data,
      env: { SKILLBOX_DATA_DIR: data },
      interrupt: stop.signal,
      ask: async () => '',
      askPerson: async () => null,

      askSecret: async () => null,
      readStdin: async () => null,
      columns: 80,
      rows: 24,
    });
    while (lines(out).length < 1) await sleep(10);
    const store = openStore(data, WRITER);
    await store.journal.append(newEvent({ subject: 'later' }));
    await store.close();
    while (lines(out).length < 2) await sleep(10);
    stop.abort();
    expect(await following).toBe(0);
    expect(lines(out).map(line => JSON.parse(line).subject)).toEqual(['second', 'later']);
  });
});

describe('skillbox audit verify', () => {
  test('a whole journal is 0, a changed one 1, with the entry that is wrong', async () => {
    const { data, audit } = await withEntries();
    expect(await audit('verify')).toMatchObject({ code: 0, out: expect.stringContaining('3 entries in 2 chains') });
    expect(JSON.parse((await audit('verify', '--json')).out)).toMatchObject({ ok: true, entries: 3, wrong: null });
    breaksJournal(data);
    const database = new DatabaseSync(join(data, 'skillbox.db'));
    database.exec(
      "DROP TRIGGER audit_is_not_changed; UPDATE audit SET body = replace(body, 'second', 'Second') WHERE position = 2",
    );
    database.close();
    const { code, err, out } = await audit('verify');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^wrong: entry 2 of chain [0-9a-f]{32}: it was changed.*\(row 2\)\n/);
    const json = await audit('verify', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, entries: 1, wrong: { seq: 2, where: 'row 2' } });
  });

  test('against a checkpoint: what was cut off is named', async () => {
    const { data, audit } = await withEntries();
    const made = await audit('checkpoint', '-o', 'point.json');
    expect(made).toMatchObject({ code: 0, out: '', err: expect.stringContaining('public key') });
    expect((await audit('verify', '--against', 'point.json')).out).toContain('all that the checkpoint of');
    const { key } = JSON.parse(readFileSync(join(data, 'point.json'), 'utf8'));
    expect((await audit('verify', '--against', 'point.json', '--key', key)).code).toBe(0);
    breaksJournal(data);
    const database = new DatabaseSync(join(data, 'skillbox.db'));
    database.exec('DROP TRIGGER audit_is_not_deleted; DELETE FROM audit WHERE position > 1');
    database.close();
    expect((await audit('verify')).code).toBe(0);
    const cut = await audit('verify', '--against', 'point.json');
    expect([cut.code, cut.err]).toEqual([
      1,
      expect.stringMatching(/entry 2 of chain .* is missing: the checkpoint saw entry 3/),
    ]);
  });

  test.each([
    [['--against', 'nothing.json'], 5],
    [['--against', 'text.json'], 2],
    [['--key', 'x'], 2],
  ])('%j ends with %d', async (words, code) => {
    const { data, audit } = await withEntries();
    writeFileSync(join(data, 'text.json'), 'hello');
    expect((await audit('verify', ...words)).code).toBe(code);
  });
});

describe('skillbox audit checkpoint, export, rotate', () => {
  test('a checkpoint goes to the screen, to a file, or to a command', async () => {
    const { data, audit } = await withEntries();
    expect(JSON.parse((await audit('checkpoint')).out)).toMatchObject({ kind: 'skillbox-checkpoint' });
    expect((await audit('checkpoint', '--to', `cat > ${data}/sent.json`)).code).toBe(0);
    expect(JSON.parse(readFileSync(join(data, 'sent.json'), 'utf8'))).toMatchObject({ kind: 'skillbox-checkpoint' });
    expect(await audit('checkpoint', '--to', 'exit 3')).toMatchObject({
      code: 1,
      err: expect.stringContaining('exit code 3'),
    });
    expect((await audit('checkpoint', '--to', 'cat', '-o', 'x')).code).toBe(2);
    expect((await audit('checkpoint', '-o', 'no/such/folder')).code).toBe(1);
    expect(existsSync(join(data, 'no'))).toBe(false);
  });

  test('an export has every entry, also the sealed ones, as it is kept', async () => {
    const { data, audit } = await withEntries();
    const before = (await audit('export')).out;
    expect(lines(before).map(line => JSON.parse(line).seq)).toEqual([1, 2, 1]);
    expect((await audit('rotate')).out).toMatch(/^moved 3 entries to /);
    expect((await audit('rotate')).err).toContain('nothing');
    const after = (await audit('export')).out;
    expect(after.startsWith(before)).toBe(true);
    expect(lines(after)).toHaveLength(4);
    expect((await audit('export', '-o', 'all.jsonl')).out).toBe('');
    expect(readFileSync(join(data, 'all.jsonl'), 'utf8')).toBe(after);
    expect(lines((await audit('export', '--type', 'run')).out)).toHaveLength(2);
  });

  test('as OpenTelemetry log records', async () => {
    const { audit } = await withEntries();
    const { resourceLogs } = JSON.parse((await audit('export', '--otel')).out);
    const records = resourceLogs[0].scopeLogs[0].logRecords;
    expect(records).toHaveLength(3);
    expect(records[0]).toMatchObject({
      timeUnixNano: expect.stringMatching(/^\d{19}$/),
      eventName: 'skillbox.trust.added',
      attributes: expect.arrayContaining([
        { key: 'skillbox.audit.seq', value: { intValue: '1' } },
        { key: 'skillbox.subject', value: { stringValue: 'first' } },
      ]),
    });
  });

  test('rotate --json tells the file; --before leaves what is newer', async () => {
    const { audit } = await withEntries();
    expect(JSON.parse((await audit('rotate', '--before', '2020-01-01', '--json')).out)).toEqual({ rotation: null });
    expect(JSON.parse((await audit('rotate', '--json')).out)).toMatchObject({ rotation: { entries: 3 } });
    expect((await audit('verify')).code).toBe(0);
  });
});
