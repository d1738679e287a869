import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { openDisk } from '../../src/store/disk.ts';
import { openPostgres, type Store } from '../../src/store/index.ts';
import { newEvent } from '../support/events.ts';
import { clearPlaces, newPlace, noPostgres, type Place } from '../support/postgres.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const blobs = () => openDisk(tempDir('blobs'), WRITER);
const told = async (store: Store) => (await store.journal.heads()).reduce((sum, { seq }) => sum + seq, 0);

/** Every new run meets this statement of plpgsql. */
const onInsert = (place: Place, statement: string) =>
  place.sql(`CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN new; END $$;
    CREATE TRIGGER meet BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION meet()`);

/** The store's connections as the server sees them just now. */
const connections = async (place: Place, which: string): Promise<number[]> => {
  await place.sql('SELECT pg_stat_clear_snapshot()');
  const rows = await place.sql(`SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND ${which}`, place.name);
  return rows.map(row => Number(row.pid));
};

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500 && !(await holds()); turn++) await sleep(10);
}

describe.skipIf(noPostgres !== null)('PostgreSQL store: faults', () => {
  it.each([
    ['nobody listens', { port: '1' }, /ECONNREFUSED/],
    ['the password is wrong', { password: 'wrong' }, /let us in/],
    ['there is no such database', { pathname: '/nothing' }, /no such database/],
  ])('%s: BACKEND_UNAVAILABLE, and no word of the password', async (_what, change, said) => {
    const url = new URL((await newPlace()).url);
    const { password } = url;
    Object.assign(url, change);
    const fault = await openPostgres(url.href, blobs()).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'BACKEND_UNAVAILABLE', status: 503 });
    expect(String(fault)).toMatch(said);
    expect(JSON.stringify([fault, String(fault)])).not.toContain(password);
  });

  it('a server that takes the connection and says nothing is given up', async () => {
    const { createServer } = await import('node:net');
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise(resolve => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    await expect(
      openPostgres(`postgres://a:b@127.0.0.1:${port}/c`, blobs(), { connectTimeoutMs: 200 }),
    ).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    silent.close();
  });

  it('a database without the schema that the URL names is refused with a word on it', async () => {
    const url = new URL((await newPlace()).url);
    url.searchParams.set('options', '-c search_path=nowhere');
    await expect(openPostgres(url.href, blobs())).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('too many connections: BACKEND_UNAVAILABLE', async () => {
    const place = await newPlace();
    const url = new URL(place.url);
    const role = `one_${place.name}`;
    await place.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'one' CONNECTION LIMIT 1`);
    url.username = role;
    url.password = 'one';
    const first = new pg.Client({ connectionString: url.href });
    await first.connect();
    await expect(openPostgres(url.href, blobs())).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    await first.end();
    await place.sql(`DROP ROLE ${role}`);
  });

  it('more callers than connections wait for their turn, and not for ever', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, blobs(), { connections: 1, connectTimeoutMs: 300 });
    await Promise.all(Array.from({ length: 20 }, () => store.runs.insert(newRecord(), [newEvent()])));
    expect(await told(store)).toBe(20);
    await onInsert(place, 'PERFORM pg_sleep(1)');
    const slow = store.runs.insert(newRecord(), []);
    await expect(store.runs.get(null, 'x')).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    await slow;
    await store.close();
  });

  it('a statement that takes too long is stopped, and nothing of it is written', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, blobs(), { statementTimeoutMs: 200 });
    await onInsert(place, 'PERFORM pg_sleep(5)');
    const record = newRecord();
    await expect(store.runs.insert(record, [newEvent()])).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    expect([await store.runs.get(null, record.id), await told(store)]).toEqual([null, 0]);
    await store.close();
  });

  it('a row that somebody else holds is waited for, and not for ever', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, blobs(), { statementTimeoutMs: 300 });
    const record = newRecord();
    await store.runs.insert(record, []);
    await place.sql('BEGIN');
    await place.sql('SELECT 1 FROM runs FOR UPDATE');
    await expect(store.runs.update({ ...record, state: 'running' }, [newEvent()])).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    });
    await place.sql('ROLLBACK');
    expect(await store.runs.update({ ...record, state: 'running' }, [newEvent()])).toBe(true);
    await store.close();
  });

  it.each([
    ['53100', 'UNWRITABLE', 507],
    ['58030', 'UNWRITABLE', 507],
    ['53200', 'BACKEND_UNAVAILABLE', 503],
    ['25006', 'BACKEND_UNAVAILABLE', 503],
    ['XX001', 'UNREADABLE', 500],
  ])('what the server says with %s is %s', async (state, code, status) => {
    const place = await newPlace();
    const store = await place.open();
    await onInsert(place, `RAISE EXCEPTION 'so' USING ERRCODE = '${state}'`);
    const record = newRecord();
    await expect(store.runs.insert(record, [newEvent()])).rejects.toMatchObject({ code, status });
    expect([await store.runs.get(null, record.id), await told(store)]).toEqual([null, 0]);
  });

  it.each(['40001', '40P01'])(
    'whoever lost against others (%s) tries again, a bounded number of times',
    async state => {
      const place = await newPlace();
      const store = await place.open();
      await place.sql('CREATE SEQUENCE tries');
      await onInsert(place, `IF nextval('tries') < 4 THEN RAISE EXCEPTION 'so' USING ERRCODE = '${state}'; END IF`);
      await store.runs.insert(newRecord(), [newEvent()]);
      expect([await place.sql('SELECT last_value::int AS tries FROM tries'), await told(store)]).toEqual([
        [{ tries: 4 }],
        1,
      ]);
      await place.sql(`DROP TRIGGER meet ON runs; DROP FUNCTION meet`);
      await onInsert(place, `PERFORM nextval('tries'); RAISE EXCEPTION 'so' USING ERRCODE = '${state}'`);
      await expect(store.runs.insert(newRecord(), [newEvent()])).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
      expect(await place.sql('SELECT last_value::int AS tries FROM tries')).toEqual([{ tries: 12 }]);
      expect(await told(store)).toBe(1);
    },
  );

  it('a fault of ours stays what it is', async () => {
    const place = await newPlace();
    const store = await place.open();
    await onInsert(place, `RAISE EXCEPTION 'so' USING ERRCODE = '42P01'`);
    const fault: unknown = await store.runs.insert(newRecord(), []).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: '42P01' });
  });
});

describe.skipIf(noPostgres !== null)('PostgreSQL store: lost connections', () => {
  it('in the middle of a transaction: neither the run nor its event is there, and the next call works', async () => {
    const place = await newPlace();
    const store = await place.open();
    await store.journal.append(newEvent());
    // The run is inserted, then its event waits for the chain, which somebody else holds.
    await place.sql('BEGIN');
    await place.sql('SELECT 1 FROM audit_chains FOR UPDATE');
    const record = newRecord();
    const insert = store.runs.insert(record, [newEvent()]).catch((error: unknown) => error);
    const waiting = () => connections(place, "wait_event_type = 'Lock' AND query LIKE '%audit_chains%'");
    await waitFor(async () => (await waiting()).length > 0);
    const [pid = 0] = await waiting();
    expect(await place.sql('SELECT pg_terminate_backend($1) AS ended', pid)).toEqual([{ ended: true }]);
    expect(await insert).toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    await place.sql('ROLLBACK');
    expect([await store.runs.get(null, record.id), await told(store)]).toEqual([null, 1]);
    await store.runs.insert(record, [newEvent()]);
    expect(await told(store)).toBe(2);
  });

  it('while nobody uses them: the next calls take others', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, blobs(), { connections: 3 });
    await Promise.all(Array.from({ length: 9 }, () => store.journal.append(newEvent())));
    const pids = await connections(place, 'TRUE');
    expect(pids).toHaveLength(3);
    for (const pid of pids) await place.sql('SELECT pg_terminate_backend($1)', pid);
    await store.journal.append(newEvent());
    expect(await store.runs.get(null, 'x')).toBeNull();
    expect(await told(store)).toBe(10);
    await store.close();
  });

  it('close waits for what is under way, and may be called again', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, blobs());
    await onInsert(place, 'PERFORM pg_sleep(0.5)');
    const record = newRecord();
    const slow = store.runs.insert(record, [newEvent()]);
    await waitFor(async () => (await connections(place, "state = 'active'")).length > 0);
    await Promise.all([store.close(), store.close()]);
    await slow;
    expect(await place.sql('SELECT count(*)::int AS runs FROM runs')).toEqual([{ runs: 1 }]);
    await expect(store.runs.get(null, record.id)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  });
});

describe.skipIf(noPostgres !== null)('PostgreSQL store: TLS', () => {
  const certificateOf = async (place: Place) => {
    const [on] = await place.sql('SHOW ssl');
    if (on?.ssl !== 'on') return null;
    const [row] = await place.sql("SELECT pg_read_file('server.crt') AS certificate");
    return String(row?.certificate);
  };

  it('with an authority, it is required and checked, whatever the URL says', async context => {
    const place = await newPlace();
    const ca = await certificateOf(place);
    if (ca === null) return context.skip('the server has no certificate');
    const url = new URL(place.url);
    url.searchParams.set('sslmode', 'disable');
    const store = await openPostgres(url.href, blobs(), { ca });
    const [seen] = await place.sql(
      'SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = $1',
      place.name,
    );
    expect(seen).toEqual({ ssl: true });
    await store.close();
    // Another authority, or another name than the one that was asked for.
    const other = (await import('node:tls')).rootCertificates[0] ?? '';
    await expect(openPostgres(url.href, blobs(), { ca: other })).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    url.hostname = 'localhost';
    await expect(openPostgres(url.href, blobs(), { ca })).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  });
});
