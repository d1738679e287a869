import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Database } from '../../src/store/database.ts';
import { openStore, type RunQuery, type Store } from '../../src/store/index.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent } from '../support/events.ts';
import { breaksJournal, verifyJournal } from '../support/journals.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const ACTOR = { id: 'uid:1000', channel: 'terminal' };
const EVERYTHING = Number.MAX_SAFE_INTEGER;

async function use<T>(directory: string, body: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(directory, WRITER);
  try {
    return await body(store);
  } finally {
    await store.close();
  }
}

async function filled(count: number, name = 'journal'): Promise<string> {
  const directory = tempDir(name);
  await use(directory, async store => {
    for (let at = 0; at < count; at++)
      await store.journal.append(newEvent({ data: { at }, tenant: at % 3 ? null : 't' }));
  });
  return directory;
}

const QUERY: RunQuery = { states: null, skill: null, since: null, limit: 10, after: null };

describe('the journal in SQLite', () => {
  test('a store of the first version gets one, and keeps its runs', async () => {
    const directory = tempDir('journal');
    const old = new DatabaseSync(join(directory, 'skillbox.db'));
    old.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`);
    // As it was before there were tenants.
    const { tenant: _tenant, by: _by, attempt: _attempt, ...record } = newRecord();
    old
      .prepare('INSERT INTO runs (id, created_at, state, record) VALUES (?, ?, ?, ?)')
      .run(record.id, record.createdAt, record.state, JSON.stringify(record));
    old.close();
    await use(directory, async store => {
      const found = await store.runs.get(null, record.id);
      expect(found).toEqual({ ...record, tenant: null, by: { id: 'unknown', channel: 'local' }, attempt: 0 });
      expect(await store.runs.list(null, { ...QUERY, skill: record.skill.name })).toEqual([found]);
      if (found !== null) await store.runs.update({ ...found, state: 'success' }, [newEvent()]);
    });
    expect(await verifyJournal(directory)).toMatchObject({ wrong: null, entries: 1 });
  });

  test('two stores have two names', async () => {
    const ids = await Promise.all([1, 1].map(async () => use(await filled(1), async store => store.journal.id)));
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    'UPDATE audit SET body = body',
    'UPDATE audit SET seq = seq + 100',
    'DELETE FROM audit WHERE position = 2',
    'DELETE FROM audit',
  ])('append-only also for our own mistakes: %s', async sql => {
    const directory = await filled(5);
    const database = new DatabaseSync(join(directory, 'skillbox.db'));
    expect(() => database.exec(sql)).toThrow(/append-only/);
    database.close();
    expect((await verifyJournal(directory)).entries).toBe(5);
  });

  test('a database that stays locked, or cannot be written, is a typed error', async () => {
    const path = join(tempDir('journal'), 'skillbox.db');
    const mine = new Database(path, 50);
    const theirs = new DatabaseSync(path);
    theirs.exec('BEGIN IMMEDIATE');
    const write = () => mine.write('full', () => mine.prepare('INSERT INTO audit_store VALUES (1)').run());
    await expect(write()).rejects.toMatchObject({ code: 'UNWRITABLE' });
    theirs.exec('ROLLBACK');
    theirs.close();
    mine.prepare('PRAGMA query_only = 1').run();
    await expect(write()).rejects.toMatchObject({ code: 'UNWRITABLE' });
    mine.close();
  });

  test('a full database takes neither the run nor the event, and works again when there is room', async () => {
    const path = join(tempDir('journal'), 'skillbox.db');
    const database = new Database(path, 1000);
    const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
    database.prepare(`PRAGMA max_page_count = ${pages + 2}`).get();
    const insert = (text: string) =>
      database.write('full', () => database.prepare('INSERT INTO audit_store VALUES (?)').run(text));
    await expect(insert('x'.repeat(100_000))).rejects.toMatchObject({ code: 'UNWRITABLE' });
    await insert('y');
    expect(database.prepare('SELECT count(*) AS rows FROM audit_store').get()?.rows).toBe(2);
    database.prepare('DELETE FROM audit_store WHERE id = ?').run('y');
    database.close();
  });
});

describe('rotation', () => {
  test('the chain goes on from the last hash of the sealed file, and is read through it', async () => {
    const directory = await filled(10);
    const before = await use(directory, store => store.journal.list(ALL, 100));
    const rotation = await use(directory, store => store.journal.rotate(EVERYTHING, ACTOR));
    expect(rotation?.entries).toBe(10);
    expect(statSync(rotation?.path ?? '').mode & 0o777).toBe(0o600);
    const content = readFileSync(rotation?.path ?? '');
    expect(createHash('sha256').update(content).digest('hex')).toBe(rotation?.sha256);
    expect(gunzipSync(content).toString().split('\n')).toHaveLength(11);
    await use(directory, async store => {
      await store.journal.append(newEvent({ tenant: 't' }), newEvent());
      const { entries } = await store.journal.list(ALL, 100);
      expect(entries.slice(0, 10)).toEqual(before.entries);
      expect(entries.map(({ type }) => type).slice(10)).toEqual([
        'journal.rotated',
        'config.changed',
        'config.changed',
      ]);
      expect((await store.journal.list(ALL, 5)).entries).toEqual(entries.slice(-5));
      expect((await store.journal.list({ ...ALL, types: ['journal.rotated'] }, 5)).entries).toHaveLength(1);
      expect(await store.journal.heads()).toEqual([
        expect.objectContaining({ chain: store.journal.id, seq: 8 }),
        expect.objectContaining({ chain: `${store.journal.id}/t`, seq: 5 }),
      ]);
    });
    expect(await verifyJournal(directory)).toMatchObject({ wrong: null, entries: 13 });
  });

  test('only what is older is moved, and nothing when there is nothing', async () => {
    const directory = await filled(4);
    await use(directory, async store => {
      expect(await store.journal.rotate(1, ACTOR)).toBeNull();
      expect(await store.journal.rotate(EVERYTHING, ACTOR)).toMatchObject({ entries: 4 });
      expect(await store.journal.rotate(EVERYTHING, ACTOR)).toBeNull();
      const { entries } = await store.journal.list(ALL, 1);
      await new Promise(resolve => setTimeout(resolve, 5));
      await store.journal.append(newEvent());
      const last = (entries[0]?.time ?? 0) + 1;
      expect(await store.journal.rotate(last, ACTOR)).toBeNull();
      expect(await store.journal.rotate(EVERYTHING, ACTOR)).toMatchObject({ entries: 2 });
    });
    expect(await verifyJournal(directory)).toMatchObject({ wrong: null, entries: 7 });
  });

  test('two at once: one of them moves the entries, and no file is lost or left over', async () => {
    const directory = await filled(50);
    const answers = await Promise.allSettled(
      [1, 2, 3].map(() => use(directory, store => store.journal.rotate(EVERYTHING, ACTOR))),
    );
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'CANCELED' });
    expect(answers.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
    expect(await verifyJournal(directory)).toMatchObject({ wrong: null });
    const told = await use(directory, store => store.journal.list({ ...ALL, types: ['journal.rotated'] }, 10));
    expect(new Set(readdirSync(join(directory, 'audit')))).toEqual(new Set(told.entries.map(({ subject }) => subject)));
  });

  test('a damaged journal is not sealed', async () => {
    const directory = breaksJournal(await filled(6));
    const database = new DatabaseSync(join(directory, 'skillbox.db'));
    database.exec(
      `DROP TRIGGER audit_is_not_changed; UPDATE audit SET body = replace(body, 'policy', 'Policy') WHERE position = 4`,
    );
    database.close();
    await use(directory, async store => {
      await expect(store.journal.rotate(EVERYTHING, ACTOR)).rejects.toThrow(/entry 2 of chain .*\/t/);
      expect((await store.journal.list(ALL, 100)).entries).toHaveLength(6);
    });
    expect(readdirSync(join(directory, 'audit'))).toEqual([]);
  });

  test.each<[string, RegExp, (path: string) => void]>([
    ['is gone', /missing/, path => rmSync(path)],
    ['is cut', /cannot be read/, path => writeFileSync(path, readFileSync(path).subarray(0, -20))],
    [
      'lacks its last entry',
      /missing: after 5 comes 7|not the one that was sealed/,
      path => rewrite(path, lines => lines.slice(0, -1)),
    ],
    ['lacks an entry', /missing/, path => rewrite(path, lines => lines.toSpliced(2, 1))],
    [
      'has a changed entry',
      /changed/,
      path => rewrite(path, lines => lines.with(4, (lines[4] ?? '').replace('policy', 'Policy'))),
    ],
    ['has another text', /no entry/, path => rewrite(path, lines => lines.with(0, 'hello'))],
    ['is packed anew', /not the one that was sealed/, path => rewrite(path, lines => lines)],
  ])('a sealed file that %s is found', async (_what, said, change) => {
    const directory = breaksJournal(await filled(9));
    const rotation = await use(directory, store => store.journal.rotate(EVERYTHING, ACTOR));
    change(rotation?.path ?? '');
    expect((await verifyJournal(directory)).wrong?.what).toMatch(said);
  });
});

function rewrite(path: string, change: (lines: string[]) => string[]): void {
  const lines = gunzipSync(readFileSync(path)).toString().split('\n').slice(0, -1);
  writeFileSync(
    path,
    gzipSync(
      change(lines)
        .map(line => `${line}\n`)
        .join(''),
      { level: 1 },
    ),
  );
}
