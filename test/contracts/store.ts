import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunQuery, RunState, Store } from '../../src/store/index.ts';
import { newRecord } from '../support/record.ts';

const ANY: RunQuery = { states: null, skill: null, since: null, limit: 100, after: null };

export type StoreSubject = { open(): Promise<Store>; close(): Promise<void> };

/** What every store must hold, whatever is behind it. `open` opens the same store again, as another process would. */
export function storeContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: records`, () => {
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

    it('a record comes back as it was, also through another handle', async () => {
      const record = newRecord({
        output: {
          text: 'a\u0000b \ud83d\ude00 \ud800',
          list: [1, -0.5, null, true],
          ['__proto__']: { polluted: true },
        },
        warnings: ["it's", '"quoted"', 'line\nbreak'],
      });
      await store.runs.insert(record, []);
      const other = await subject.open();
      const found = await other.runs.get(null, record.id);
      await other.close();
      expect(JSON.stringify(found)).toBe(JSON.stringify(record));
      expect(Object.hasOwn(Object(found?.output), '__proto__')).toBe(true);
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    });

    it('an id is recorded once', async () => {
      const record = newRecord();
      await store.runs.insert(record, []);
      await expect(store.runs.insert(newRecord({ id: record.id, target: 'other' }), [])).rejects.toThrow();
      expect((await store.runs.get(null, record.id))?.target).toBe('main');
    });

    it('what is not there is null, and is not made by an update', async () => {
      expect(await store.runs.get(null, 'nothing')).toBeNull();
      expect(await store.runs.update(newRecord({ id: 'nothing' }), [])).toBe(false);
      expect(await store.runs.get(null, 'nothing')).toBeNull();
      expect(await store.runs.isCancelRequested('nothing')).toBe(false);
    });

    it.each<RunState>(['success', 'failed', 'timeout'])('X-13 an end is never overwritten: %s', async state => {
      const record = newRecord();
      await store.runs.insert(record, []);
      expect(await store.runs.update({ ...record, state: 'running' }, [])).toBe(true);
      expect(await store.runs.update({ ...record, state, exitCode: 7 }, [])).toBe(true);
      for (const late of ['running', 'success', 'failed', 'timeout'] as const)
        expect(await store.runs.update({ ...record, state: late, exitCode: 99 }, [])).toBe(false);
      expect(await store.runs.get(null, record.id)).toMatchObject({ state, exitCode: 7 });
    });

    it('two ends at once: one is kept, and both writers know which', async () => {
      const record = newRecord();
      await store.runs.insert(record, []);
      const other = await subject.open();
      const won = await Promise.all([
        store.runs.update({ ...record, state: 'success', target: 'a' }, []),
        other.runs.update({ ...record, state: 'failed', target: 'b' }, []),
      ]);
      await other.close();
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await store.runs.get(null, record.id))?.target).toBe(won[0] ? 'a' : 'b');
    });

    it('a list is the newest first, bounded, and by state', async () => {
      const future = Date.now() + 1_000_000;
      const made = [0, 1, 2, 3].map(at =>
        newRecord({ createdAt: future + at, state: at % 2 === 0 ? 'waiting' : 'preparing' }),
      );
      for (const record of made) await store.runs.insert(record, []);
      const ids = made.map(record => record.id).reverse();
      expect((await store.runs.list(null, { ...ANY, states: null, limit: 3 })).map(run => run.id)).toEqual(
        ids.slice(0, 3),
      );
      expect((await store.runs.list(null, { ...ANY, states: ['waiting'], limit: 10 })).map(run => run.id)).toEqual([
        ids[1],
        ids[3],
      ]);
      expect(await store.runs.list(null, { ...ANY, states: [], limit: 10 })).toEqual([]);
    });

    it('a list leaves the outputs out, and nothing else', async () => {
      const output = { big: 'x'.repeat(100_000), odd: '\u0000\ud800 😀', ['__proto__']: [1e300] };
      const record = newRecord({ createdAt: Date.now() + 9_000_000, output, warnings: ['\u0000 "output"'] });
      await store.runs.insert(record, []);
      const [listed] = await store.runs.list(null, { ...ANY, states: null, limit: 1 });
      expect(JSON.stringify(listed)).toBe(JSON.stringify({ ...record, output: null }));
      expect(JSON.stringify(await store.runs.get(null, record.id))).toBe(JSON.stringify(record));
    });

    it('a beginning of an id is taken as it is, not as a pattern', async () => {
      const record = newRecord({ id: 'abc_1%x' });
      await store.runs.insert(record, []);
      expect(await store.runs.find(null, 'abc_1')).toEqual(['abc_1%x']);
      expect(await store.runs.find(null, 'abcX1')).toEqual([]);
      expect(await store.runs.find(null, '%')).toEqual([]);
      expect(await store.runs.find(null, "' OR 1=1 --")).toEqual([]);
    });

    it('a wish to cancel is seen through another handle, and survives updates', async () => {
      const record = newRecord();
      await store.runs.insert(record, []);
      const other = await subject.open();
      await other.runs.requestCancel(null, record.id, []);
      await other.close();
      expect(await store.runs.isCancelRequested(record.id)).toBe(true);
      await store.runs.update({ ...record, state: 'running' }, []);
      expect(await store.runs.isCancelRequested(record.id)).toBe(true);
    });
  });
}
