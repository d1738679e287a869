import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogEntry, RunLogs, Store } from '../../src/store/index.ts';
import type { StoreSubject } from './store.ts';

/** What every store must hold of logs: in order, whole, readable while they grow. */
export function logsContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: logs`, () => {
    let subject: StoreSubject;
    let store: Store;
    beforeAll(async () => {
      subject = await make();
      store = await subject.open();
    });
    afterAll(async () => {
      await store?.close();
      await subject?.close();
    });

    const readAll = async (logs: RunLogs, id: string, from = 0, maxBytes = 1000): Promise<LogEntry[]> => {
      const all: LogEntry[] = [];
      for (let offset = from; ; ) {
        const slice = await logs.read(id, offset, maxBytes);
        all.push(...slice.entries);
        if (slice.offset === offset) return all;
        offset = slice.offset;
      }
    };
    const text = (entries: readonly LogEntry[]) =>
      entries.map(({ stream, bytes }) => `${stream}:${bytes.toString('latin1')}`);

    it('SB-10 come back in order and apart, through another handle, from any offset that was given', async () => {
      const log = await store.logs.create({ id: 'ordered', attempt: 1 });
      const wanted: string[] = [];
      for (let at = 0; at < 40; at++) {
        const stream = at % 3 === 0 ? 'stderr' : 'stdout';
        log.write(stream, Buffer.from(`piece ${at} \u0000\xff`, 'latin1'));
        wanted.push(`${stream}:piece ${at} \u0000\xff`);
      }
      await log.close();
      const other = await subject.open();
      expect(text(await readAll(other.logs, 'ordered'))).toEqual(wanted);
      const first = await other.logs.read('ordered', 0, 100);
      expect(first.entries.length).toBeGreaterThan(0);
      expect(first.entries.at(-1)?.next).toBe(first.offset);
      const [one] = first.entries;
      expect(text(await readAll(other.logs, 'ordered', one?.next ?? 0))).toEqual(wanted.slice(1));
      expect(text(await readAll(other.logs, 'ordered', first.offset))).toEqual(wanted.slice(first.entries.length));
      await other.close();
      expect(log.bytes).toBe(wanted.reduce((sum, each) => sum + (each.split(':')[1] ?? '').length, 0));
    });

    it('whoever writes is told when more of it can be read', async () => {
      let told = 0;
      const log = await store.logs.create({ id: 'told', attempt: 1 }, () => void told++);
      for (const word of ['one', 'two']) {
        const before = told;
        log.write('stdout', Buffer.from(word));
        await expect.poll(() => told).toBeGreaterThan(before);
        expect(text(await readAll(store.logs, 'told')).at(-1)).toBe(`stdout:${word}`);
      }
      await log.close();
    });

    it('SB-10 large pieces come whole, to whoever takes little at a time', async () => {
      const log = await store.logs.create({ id: 'large', attempt: 1 });
      const big = Buffer.alloc(1_000_003, 'abcdefg');
      log.write('stdout', big);
      await log.close();
      const read = await readAll(store.logs, 'large', 0, 1);
      expect(Buffer.concat(read.map(({ bytes }) => bytes)).equals(big)).toBe(true);
    });

    it('SB-10 no piece ends inside a character, so each is text by itself', async () => {
      const log = await store.logs.create({ id: 'characters', attempt: 1 });
      const written = `a${'€😀é'.repeat(30_000)}`;
      log.write('stdout', Buffer.from(written));
      await log.close();
      const pieces = (await readAll(store.logs, 'characters', 0, 1)).map(({ bytes }) => bytes.toString('utf8'));
      expect(pieces.length).toBeGreaterThan(1);
      expect(pieces.join('') === written).toBe(true);
    });

    it('are readable while they grow', { timeout: 10_000 }, async () => {
      const log = await store.logs.create({ id: 'growing', attempt: 1 });
      log.write('stdout', Buffer.from('early'));
      await expect.poll(async () => text(await readAll(store.logs, 'growing'))).toEqual(['stdout:early']);
      await log.close();
    });

    it('of an earlier attempt are gone with the next, whoever still writes', async () => {
      const first = await store.logs.create({ id: 'again', attempt: 1 });
      first.write('stdout', Buffer.from('of the first'));
      const second = await store.logs.create({ id: 'again', attempt: 2 });
      second.write('stderr', Buffer.from('of the second'));
      await second.close();
      try {
        first.write('stdout', Buffer.from('too late'));
        await first.close();
      } catch {
        // It may be told, or not: it reaches nobody.
      }
      expect(text(await readAll(store.logs, 'again'))).toEqual(['stderr:of the second']);
    });

    it('are there once for an attempt', async () => {
      const log = await store.logs.create({ id: 'once', attempt: 1 });
      log.write('stdout', Buffer.from('the one'));
      await log.close();
      await expect(store.logs.create({ id: 'once', attempt: 1 })).rejects.toMatchObject({ code: 'UNWRITABLE' });
      await log.close();
    });

    it('are written by one alone, also when two had begun before either said a word', async () => {
      const log = await store.logs.create({ id: 'twice', attempt: 1 });
      const intrude = async () => {
        const other = await store.logs.create({ id: 'twice', attempt: 1 });
        log.write('stdout', Buffer.from('the one'));
        other.write('stdout', Buffer.from('another'));
        await other.close();
      };
      await expect(intrude()).rejects.toMatchObject({ code: 'UNWRITABLE' });
      if (text(await readAll(store.logs, 'twice')).length === 0) log.write('stdout', Buffer.from('the one'));
      await log.close();
      expect(text(await readAll(store.logs, 'twice'))).toEqual(['stdout:the one']);
    });

    it('of an earlier attempt that had said nothing yet stay unsaid', async () => {
      const first = await store.logs.create({ id: 'mute', attempt: 1 });
      const second = await store.logs.create({ id: 'mute', attempt: 2 });
      try {
        first.write('stdout', Buffer.from('too late'));
        await first.close();
      } catch {
        // It may be told, or not: it reaches nobody.
      }
      second.write('stdout', Buffer.from('of the second'));
      await second.close();
      expect(text(await readAll(store.logs, 'mute'))).toEqual(['stdout:of the second']);
    });

    it('that are not there are empty, and are removed without a word', async () => {
      expect(await store.logs.read('nothing', 0, 10)).toEqual({ entries: [], offset: 0 });
      const log = await store.logs.create({ id: 'gone', attempt: 1 });
      log.write('stdout', Buffer.from('x'));
      await log.close();
      await store.logs.remove(['gone', 'nothing']);
      expect(await store.logs.read('gone', 0, 10)).toEqual({ entries: [], offset: 0 });
      expect(await store.logs.read('gone', 999, 10)).toEqual({ entries: [], offset: 999 });
    });
  });
}
