import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDisk } from '../../src/store/disk.ts';
import type { Blobs, Store } from '../../src/store/index.ts';
import { openPostgres } from '../../src/store/index.ts';
import { newEvent, TESTER } from '../support/events.ts';
import { clearPlaces, newPlace, noPostgres, type Place } from '../support/postgres.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const rowsOf = async (place: Place) => (await place.sql('SELECT count(*)::int AS rows FROM run_log_rows'))[0]?.rows;
const blobOf = async (place: Place, run: string): Promise<string | null> => {
  const [row] = await place.sql('SELECT sha256 FROM run_logs WHERE run = $1', run);
  return typeof row?.sha256 === 'string' ? row.sha256 : null;
};

async function textOf(store: Store, id: string, maxBytes = 100): Promise<string> {
  let text = '';
  for (let offset = 0; ; ) {
    const slice = await store.logs.read(id, offset, maxBytes);
    for (const { bytes } of slice.entries) text += bytes.toString('latin1');
    if (slice.offset === offset) return text;
    offset = slice.offset;
  }
}

/** Blobs that take nothing while `broken` says so. */
function fragile(directory: string): { blobs: Blobs; broken: { now: boolean } } {
  const broken = { now: true };
  const blobs = openDisk(directory, WRITER);
  const put: Blobs['put'] = async content => {
    if (broken.now) throw new Error('no room');
    return blobs.put(content);
  };
  return { blobs: { ...blobs, put }, broken };
}

/** A way to the database that can be cut. */
async function wayTo(url: string): Promise<{ url: string; cut(): void; mend(): void }> {
  const [from, to, all] = [new URL(url), new URL(url), new Set<Socket>()];
  let isCut = false;
  const server = createServer(inner => {
    const outer = connect(Number(to.port || 5432), to.hostname);
    for (const one of [inner, outer]) {
      all.add(one);
      one.on('error', () => undefined).on('close', () => [inner, outer].map(each => each.destroy()));
    }
    if (isCut) inner.destroy();
    else inner.pipe(outer).pipe(inner);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  from.hostname = '127.0.0.1';
  from.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    isCut = true;
    for (const one of all) one.destroy();
    all.clear();
  };
  const mend = () => {
    isCut = false;
  };
  return { url: from.href, cut, mend };
}

describe.skipIf(noPostgres !== null)('PostgreSQL: logs', () => {
  it('what is printed while the database is away waits for it', async () => {
    const place = await newPlace();
    const way = await wayTo(place.url);
    const store = await openPostgres(way.url, openDisk(tempDir('blobs'), WRITER));
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    log.write('stdout', Buffer.from('before '));
    await expect.poll(() => rowsOf(place)).toBe(1);
    way.cut();
    log.write('stdout', Buffer.from('meanwhile '));
    await new Promise(resolve => setTimeout(resolve, 600));
    log.write('stdout', Buffer.from('still away '));
    setTimeout(() => way.mend(), 500);
    await log.close();
    expect(await textOf(store, 'a')).toBe('before meanwhile still away ');
    await store.close();
  });

  it('are rows while they grow and a blob when they are closed; readers see no difference', async () => {
    const place = await newPlace();
    const store = await place.open();
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    const wanted = Array.from({ length: 3000 }, (_, at) => `line ${at} ${'x'.repeat(at % 300)}\n`).join('');
    for (const line of wanted.split(/(?<=\n)/)) log.write('stdout', Buffer.from(line));
    await expect.poll(() => rowsOf(place)).toBeGreaterThan(1);
    const early = await store.logs.read('a', 0, 100_000);
    await log.close();
    await expect.poll(() => rowsOf(place)).toBe(0);
    expect(await blobOf(place, 'a')).toMatch(/^[0-9a-f]{64}$/);
    expect(await textOf(store, 'a', 7000)).toBe(wanted);
    // Whoever had read a part from the rows goes on in the blob.
    const rest = await store.logs.read('a', early.offset, 10_000_000);
    expect(Buffer.concat([...early.entries, ...rest.entries].map(({ bytes }) => bytes)).toString()).toBe(wanted);
    expect(await store.logs.read('a', rest.offset, 10)).toEqual({ entries: [], offset: rest.offset });
    expect(await store.logs.read('a', rest.offset + 1000, 10)).toEqual({ entries: [], offset: rest.offset + 1000 });
  });

  it('an empty one is one too', async () => {
    const place = await newPlace();
    const store = await place.open();
    await (await store.logs.create({ id: 'a', attempt: 1 })).close();
    await expect.poll(() => blobOf(place, 'a')).not.toBeNull();
    expect(await store.logs.read('a', 0, 100)).toEqual({ entries: [], offset: 0 });
  });

  it('that no blob could be made of stay in their rows, and a sweep tries again when the run has ended', async () => {
    const place = await newPlace();
    const { blobs, broken } = fragile(place.blobs);
    const store = await openPostgres(place.url, blobs);
    for (const [id, state] of [
      ['ended', 'success'],
      ['going', 'running'],
    ] as const) {
      await store.runs.insert(newRecord({ id, state }), []);
      const log = await store.logs.create({ id, attempt: 1 });
      log.write('stdout', Buffer.from('hello'));
      await log.close();
    }
    expect(await textOf(store, 'ended')).toBe('hello');
    broken.now = false;
    await store.sweep();
    expect([await blobOf(place, 'ended'), await blobOf(place, 'going')]).toEqual([expect.any(String), null]);
    expect([await textOf(store, 'ended'), await textOf(store, 'going')]).toEqual(['hello', 'hello']);
    await store.close();
  });

  it('whoever closes the store waits for what is on its way into a blob', async () => {
    const place = await newPlace();
    const store = await openPostgres(place.url, openDisk(place.blobs, WRITER));
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    log.write('stdout', Buffer.alloc(3_000_000, 'x'));
    await log.close();
    await store.close();
    expect([await rowsOf(place), await blobOf(place, 'a')]).toEqual([0, expect.any(String)]);
  });

  it('a blob that is gone is told as that', async () => {
    const place = await newPlace();
    const store = await place.open();
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    log.write('stdout', Buffer.from('x'));
    await log.close();
    await expect.poll(() => blobOf(place, 'a')).not.toBeNull();
    const sha256 = (await blobOf(place, 'a')) ?? '';
    rmSync(join(place.blobs, sha256.slice(0, 2), sha256));
    await expect(store.logs.read('a', 0, 10)).rejects.toMatchObject({ code: 'UNREADABLE' });
  });

  it('cannot be written: the next piece, or the end, says so', async () => {
    const place = await newPlace();
    const store = await place.open();
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    await place.sql('ALTER TABLE run_log_rows ADD CHECK (length(frames) < 100)');
    log.write('stdout', Buffer.alloc(300_000));
    await expect(log.close()).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(() => log.write('stdout', Buffer.from('x'))).toThrow(expect.objectContaining({ code: 'UNWRITABLE' }));
  });

  it('blobs of logs and of the sealed journal are kept, and those of removed logs are not', async () => {
    const place = await newPlace();
    const store = await place.open();
    const log = await store.logs.create({ id: 'a', attempt: 1 });
    log.write('stdout', Buffer.from('x'));
    await log.close();
    await expect.poll(() => blobOf(place, 'a')).not.toBeNull();
    await store.journal.append(newEvent());
    const rotation = await store.journal.rotate(Number.MAX_SAFE_INTEGER, TESTER);
    const [mine, sealed] = [(await blobOf(place, 'a')) ?? '', rotation?.sha256 ?? ''];
    const asked = [mine, sealed, '0'.repeat(64)];
    expect((await store.keptBlobs(asked)).toSorted()).toEqual([mine, sealed].toSorted());
    await store.logs.remove(['a']);
    expect(await store.keptBlobs(asked)).toEqual([sealed]);
  });
});
