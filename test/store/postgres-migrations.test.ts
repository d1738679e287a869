import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openAudit } from '../../src/audit/index.ts';
import { openDisk } from '../../src/store/disk.ts';
import { DEFAULT_POSTGRES, openPostgres } from '../../src/store/index.ts';
import { Postgres } from '../../src/store/postgres/database.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { MIGRATIONS } from '../../src/store/postgres/migrations.ts';
import { clearPlaces, newPlace, noPostgres, type Place } from '../support/postgres.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const blobs = () => openDisk(tempDir('blobs'), WRITER);
const fixture = (version: number) => join(import.meta.dirname, `fixtures/postgres-${version}.sql`);
const EARLIER = Array.from({ length: MIGRATIONS.length - 1 }, (_, at) => at + 1);
const versionOf = async (place: Place) => (await place.sql('SELECT version FROM skillbox_schema'))[0]?.version;

/** As another process with these migrations would. */
async function migrateWith(place: Place, migrations: readonly string[]): Promise<void> {
  const database = new Postgres(place.url, DEFAULT_POSTGRES);
  try {
    await migrate(database, null, migrations);
  } finally {
    await database.close();
  }
}

describe.skipIf(noPostgres !== null)('PostgreSQL: migrations', () => {
  it('there is a store of every earlier version to try', () => {
    expect(EARLIER.filter(version => !existsSync(fixture(version)))).toEqual([]);
  });

  it.each(EARLIER)('a store of version %i opens with all that it had', async version => {
    const place = await newPlace();
    await migrateWith(place, MIGRATIONS.slice(0, version));
    await place.sql(readFileSync(fixture(version), 'utf8'));
    const store = await place.open();
    expect((await openAudit(store.journal, '/nowhere').verify(null, null)).wrong).toBeNull();
    expect(await versionOf(place)).toBe(MIGRATIONS.length);
  });

  it('of many that start at once on an empty schema, one makes it and all can use it', async () => {
    const place = await newPlace();
    const stores = await Promise.all(Array.from({ length: 6 }, () => place.open()));
    expect(new Set(stores.map(store => store.journal.id)).size).toBe(1);
    await Promise.all(stores.map(store => store.runs.insert(newRecord(), [])));
    expect(await place.sql('SELECT count(*)::int AS runs FROM runs')).toEqual([{ runs: 6 }]);
  });

  it('a later one is run once, by whoever is first, with the rows that are there', async () => {
    const place = await newPlace();
    const store = await place.open();
    const record = newRecord();
    await store.runs.insert(record, []);
    const more = [...MIGRATIONS, 'CREATE TABLE later (id int); INSERT INTO later SELECT count(*) FROM runs'];
    await Promise.all(Array.from({ length: 5 }, () => migrateWith(place, more)));
    expect(await place.sql('SELECT id FROM later')).toEqual([{ id: 1 }]);
    expect(await versionOf(place)).toBe(more.length);
    // Whoever is still there goes on; whoever starts anew is told that it is too old.
    expect(await store.runs.get(null, record.id)).toEqual(record);
    await expect(openPostgres(place.url, blobs())).rejects.toMatchObject({ code: 'UNWRITABLE' });
  });

  it('one that breaks leaves nothing behind, and those before it neither', async () => {
    const place = await newPlace();
    await place.open();
    const broken = [...MIGRATIONS, 'CREATE TABLE later (id int)', 'CREATE TABLE runs (id int)'];
    await expect(migrateWith(place, broken)).rejects.toThrow(/already exists/);
    expect(await place.sql(`SELECT to_regclass('later') AS later`)).toEqual([{ later: null }]);
    expect(await versionOf(place)).toBe(MIGRATIONS.length);
    await place.open();
  });

  it('a schema that is named is made, once', async () => {
    const place = await newPlace();
    const url = new URL(place.url);
    url.searchParams.delete('options');
    const schema = `${place.name}_own`;
    const stores = await Promise.all([1, 2, 3].map(() => openPostgres(url.href, blobs(), { schema })));
    const record = newRecord();
    await stores[0]?.runs.insert(record, []);
    expect(await stores[2]?.runs.get(null, record.id)).toEqual(record);
    for (const store of stores) await store.close();
    expect(await place.sql(`SELECT id FROM ${schema}.runs`)).toEqual([{ id: record.id }]);
    await place.sql(`DROP SCHEMA ${schema} CASCADE`);
    await expect(openPostgres(url.href, blobs(), { schema: 'a; DROP' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it.each(['', 'nothing', 'http://a/b', 'mysql://secret@b/c'])(
    'what is no address of a database is refused: %j',
    async url => {
      const fault: unknown = await openPostgres(url, blobs()).catch((error: unknown) => error);
      expect(fault).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(String(fault)).not.toContain('secret');
    },
  );

  it('a database that cannot hold every text is refused', async () => {
    const place = await newPlace();
    const name = `ascii_${place.name}`;
    await place.sql(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' TEMPLATE template0`);
    const url = new URL(place.url);
    url.pathname = `/${name}`;
    await expect(openPostgres(url.href, blobs())).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await place.sql(`DROP DATABASE ${name}`);
  });
});
