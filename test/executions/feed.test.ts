import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Feeds } from '../../src/executions/index.ts';
import type { RunEvent } from '../../src/service/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

async function open() {
  const real = openStore(tempDir('feed'), WRITER);
  onTestFinished(() => real.close());
  const counts = { reads: 0, gets: 0 };
  const store: Store = {
    ...real,
    logs: {
      ...real.logs,
      read: (...args) => {
        counts.reads++;
        return real.logs.read(...args);
      },
    },
    runs: {
      ...real.runs,
      get: (...args) => {
        counts.gets++;
        return real.runs.get(...args);
      },
    },
  };
  const record = newRecord({ state: 'running' });
  await real.runs.insert(record, []);
  return { store, real, counts, feeds: new Feeds(store), record, log: await real.logs.create(record) };
}

const textOf = (events: readonly RunEvent[]) =>
  events.flatMap(event => (event.kind === 'log' ? [event.line.text] : [])).join('');

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('following', () => {
  test('500 followers of one run: the log is read once for all of them', { timeout: 30_000 }, async () => {
    const { feeds, record, log, counts } = await open();
    const runner = feeds.open(record);
    runner.attach();
    const followers = Array.from({ length: 500 }, () => {
      const feed = feeds.open(record);
      return collect(feed.follow(0, null)).finally(() => feeds.close(feed));
    });
    const pieces = 40;
    for (let at = 0; at < pieces; at++) {
      log.write('stdout', Buffer.from(`piece ${at}\n`));
      runner.printed();
      await sleep(10);
    }
    await log.close();
    runner.state({ ...record, state: 'success' });
    const wanted = Array.from({ length: pieces }, (_, at) => `piece ${at}\n`).join('');
    for (const events of await Promise.all(followers)) {
      expect(textOf(events)).toBe(wanted);
      expect(events.at(-1)).toMatchObject({ kind: 'state', run: { state: 'success' } });
    }
    // Each part of the log, and each look whether there is more: far from one for each follower and piece.
    expect(counts.reads).toBeLessThan(8 * pieces);
    expect(counts.gets).toBe(0);
    feeds.close(runner);
    expect(feeds.size).toBe(0);
  });

  test('a follower that does not read costs nothing: no piece is kept for it', { timeout: 30_000 }, async () => {
    const { feeds, record, log, counts } = await open();
    const feed = feeds.open(record);
    feed.attach();
    const slow = feed.follow(0, null);
    await slow.next();
    const piece = Buffer.alloc(64 * 1024, 'x');
    for (let at = 0; at < 100; at++) {
      log.write('stdout', piece);
      feed.printed();
    }
    await sleep(50);
    expect(counts.reads).toBe(0);
    await log.close();
    feed.state({ ...record, state: 'success' });
    let bytes = 0;
    for await (const event of slow) if (event.kind === 'log') bytes += event.line.text.length;
    expect(bytes).toBe(100 * piece.length);
    feeds.close(feed);
  });

  test('whoever comes back with an offset misses nothing and sees nothing twice', async () => {
    const { feeds, record, log } = await open();
    for (let at = 0; at < 30; at++) log.write(at % 2 === 0 ? 'stdout' : 'stderr', Buffer.from(`${at},`));
    await log.close();
    const feed = feeds.open({ ...record, state: 'success' });
    const whole = await collect(feed.follow(0, null));
    for (const [at, { offset }] of whole.entries()) {
      const rest = await collect(feed.follow(offset, null));
      expect(textOf(whole.slice(0, at + 1)) + textOf(rest)).toBe(textOf(whole));
    }
    feeds.close(feed);
  });

  test('a run that goes on elsewhere is looked at once for all, and not when nobody follows', {
    timeout: 20_000,
  }, async () => {
    const { feeds, record, log, counts, real } = await open();
    const followers = Array.from({ length: 50 }, () => {
      const feed = feeds.open(record);
      return collect(feed.follow(0, null)).finally(() => feeds.close(feed));
    });
    await sleep(600);
    log.write('stdout', Buffer.from('printed elsewhere'));
    await log.close();
    await sleep(600);
    await real.runs.update({ ...record, state: 'success' }, []);
    for (const events of await Promise.all(followers)) expect(textOf(events)).toBe('printed elsewhere');
    const looks = counts.gets;
    expect(looks).toBeLessThan(20);
    await sleep(700);
    expect(counts.gets).toBe(looks);
  });

  test('whoever leaves is not waited for', async () => {
    const { feeds, record } = await open();
    const feed = feeds.open(record);
    feed.attach();
    const gone = new AbortController();
    const following = collect(feed.follow(0, gone.signal));
    await sleep(20);
    gone.abort();
    expect(await following).toHaveLength(1);
    const waiting = feed.nextState(gone.signal, null);
    await waiting;
    await feed.nextState(null, 5);
    feeds.close(feed);
  });
});
