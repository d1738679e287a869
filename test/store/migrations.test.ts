import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openAudit } from '../../src/audit/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent } from '../support/events.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const fixture = (version: number) => join(import.meta.dirname, `fixtures/sqlite-${version}.sql`);
const EARLIER = Array.from({ length: MIGRATIONS.length - 1 }, (_, at) => at + 1);
const ROOM = { running: 1, queued: 1 };
const NEWEST_FIRST = { states: null, skill: null, since: null, limit: 10, after: null };

/** A store as an earlier Skillbox left it: tables and rows are in the file, nothing of it is made by the code of today. */
function makeStore(version: number): string {
  const directory = tempDir('store');
  const database = new DatabaseSync(join(directory, 'skillbox.db'));
  database.exec(readFileSync(fixture(version), 'utf8'));
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: version });
  database.close();
  return directory;
}

async function checkRuns(store: Store): Promise<void> {
  const runs = await store.runs.list(null, NEWEST_FIRST);
  expect(runs.map(({ id, state, tenant, attempt }) => [id, state, tenant, attempt])).toEqual([
    ['run-3', 'running', null, 0],
    ['run-2', 'failed', null, 0],
    ['run-1', 'success', null, 0],
  ]);
  expect(await store.runs.get(null, 'run-1')).toMatchObject({
    output: { text: "it's run-1 \u0000 é" },
    warnings: ["it's"],
  });
  expect((await store.runs.list(null, { ...NEWEST_FIRST, skill: 'pdf' })).map(({ id }) => id)).toEqual(['run-2']);
  expect(await store.runs.isCancelRequested('run-3')).toBe(true);
  const going = await store.runs.get(null, 'run-3');
  if (going !== null) expect(await store.runs.update({ ...going, state: 'failed' }, [newEvent()])).toBe(true);
}

async function checkJournal(store: Store, version: number): Promise<void> {
  const { wrong, entries } = await openAudit(store.journal, '/nowhere').verify(null, null);
  expect([wrong, entries]).toEqual([null, version >= 2 ? 7 : 1]);
  if (version < 2) return;
  expect(store.journal.id).toBe('0123456789abcdef0123456789abcdef');
  expect((await store.journal.list({ ...ALL, tenants: ['acme'] }, 10)).entries).toHaveLength(2);
  expect((await store.journal.list({ ...ALL, subject: 'run-2' }, 10)).entries).toHaveLength(2);
}

describe('SQLite: stores of earlier versions', () => {
  it('there is a store of every earlier version to try', () => {
    expect(EARLIER.filter(version => !existsSync(fixture(version)))).toEqual([]);
  });

  it.each(EARLIER)('a store of version %i opens with all that it had, goes on, and opens again', async version => {
    const directory = makeStore(version);
    const store = openStore(directory, WRITER);
    await checkRuns(store);
    await checkJournal(store, version);
    if (version >= 3) {
      const answers = store.answers(null);
      expect((await answers.byBinding('b')).map(({ id, mac }) => [id, mac])).toEqual([
        ['answer-1', 'm1'], // the "always" stands before a newer answer
        ['answer-2', 'm2'],
      ]);
      expect(await answers.seal()).toEqual({ version: 2, body: '{"version":2}', mac: 'm3' });
      expect(await store.answers('acme').list(10)).toEqual([]);
    }
    if (version >= 4) {
      expect(await store.secrets.keyId()).toBe('key-1');
      expect(await store.secrets.get('', 'TOKEN')).toMatchObject({ version: 3, wrapped: Buffer.from([0, 1, 255]) });
    }
    if (version >= 5) {
      expect(await store.queue.usage('acme')).toMatchObject({ running: 0, queued: 1 });
      expect(await store.queue.findKey('acme', { key: 'once', since: 0 })).toEqual({ fingerprint: 'f', run: 'run-4' });
      expect((await store.queue.claim('o', ROOM, null))?.id).toBe('run-4');
    }
    await store.close();
    const again = openStore(directory, WRITER);
    expect((await again.runs.get(null, 'run-3'))?.state).toBe('failed');
    await again.close();
    const database = new DatabaseSync(join(directory, 'skillbox.db'), { readOnly: true });
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length });
    expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
    database.close();
  });

  it.each(EARLIER)('version %i leads to the same tables as a new store has', async version => {
    const schemaOf = async (directory: string) => {
      await openStore(directory, WRITER).close();
      const database = new DatabaseSync(join(directory, 'skillbox.db'), { readOnly: true });
      const rows = database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();
      database.close();
      return rows.map(({ name, sql }) => [name, String(sql).replace(/\s+/g, ' ')]);
    };
    expect(await schemaOf(makeStore(version))).toEqual(await schemaOf(tempDir('store')));
  });
});
