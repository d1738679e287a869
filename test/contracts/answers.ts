import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerRow, Store } from '../../src/store/index.ts';
import { newRecord } from '../support/record.ts';
import type { StoreSubject } from './store.ts';

let count = 0;
const rowOf = (changes: Partial<AnswerRow> = {}): AnswerRow => {
  count += 1;
  const row = { id: `row-${count}`, binding: 'b', refusal: 'r', origin: 'o', createdAt: count, body: '{}', mac: 'm' };
  return { ...row, ...changes };
};
const sealOf = (version: number) => ({ version, body: `{"version":${version}}`, mac: 'm' });
const EVENT = {
  type: 'approval.given',
  actor: { id: 'tester', channel: 'terminal' },
  tenant: null,
  subject: 'x',
  data: { scope: 'once' },
} as const;

/** What every store must hold of answers: they come with their run and their events, or not at all. */
export function answersContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: answers`, () => {
    const opened: { subject: StoreSubject; store: Store }[] = [];
    let subject: StoreSubject;
    let store: Store;
    beforeEach(async () => {
      subject = await make();
      store = await subject.open();
      opened.push({ subject, store });
    });
    afterAll(async () => {
      for (const each of opened) {
        await each.store.close();
        await each.subject.close();
      }
    });
    const told = async () => (await store.journal.heads()).reduce((sum, { seq }) => sum + seq, 0);

    it('are found by what they are for, the newest first, also through another handle', async () => {
      const rows = [rowOf(), rowOf({ binding: 'other' }), rowOf({ origin: 'elsewhere' })];
      expect(await store.answers(null).seal()).toBeNull();
      expect(await store.answers(null).write({ rows, seal: sealOf(1), run: null, events: [EVENT] })).toBe('written');
      const other = await subject.open();
      const ids = (found: AnswerRow[]) => found.map(({ id }) => id);
      expect(ids(await other.answers(null).byBinding('b'))).toEqual([rows[2]?.id, rows[0]?.id]);
      expect(ids(await other.answers(null).byOrigin('o'))).toEqual([rows[1]?.id, rows[0]?.id]);
      expect(await other.answers(null).byIds([rows[0]?.id ?? '', 'nothing'])).toEqual([rows[0]]);
      expect(ids(await other.answers(null).list(2))).toEqual([rows[2]?.id, rows[1]?.id]);
      expect(await other.answers(null).seal()).toEqual(sealOf(1));
      await other.close();
    });

    it('are listed by whether they outlast their run, as their text says', async () => {
      const bodies = [
        '{"answer":"once"}',
        '{"answer":"always"}',
        '{"answer":"deny-always"}',
        '{"by":"\\"answer\\":\\"always\\""}',
      ];
      const rows = bodies.map(body => rowOf({ body }));
      await store.answers(null).write({ rows, seal: sealOf(1), run: null, events: [] });
      await store
        .answers('other')
        .write({ rows: [rowOf({ body: '{"answer":"always"}' })], seal: sealOf(1), run: null, events: [] });
      expect((await store.answers(null).standing()).map(({ id }) => id)).toEqual([rows[2]?.id, rows[1]?.id]);
    });

    it('an "always" is found for what it is for, however many were for one run since', async () => {
      const always = rowOf({ body: '{"answer":"always"}' });
      const flood = Array.from({ length: 60 }, () => rowOf({ body: '{"answer":"once"}' }));
      const rows = [always, ...flood];
      await store.answers(null).write({ rows, seal: sealOf(1), run: null, events: [] });
      const ids = (await store.answers(null).byBinding('b')).map(({ id }) => id);
      expect(ids.slice(0, 2)).toEqual([always.id, flood.at(-1)?.id]);
    });

    it('follow one another: a seal that is not the next writes nothing', async () => {
      const write = (version: number) =>
        store.answers(null).write({ rows: [rowOf()], seal: sealOf(version), run: null, events: [EVENT] });
      expect(await write(2)).toBe('stale');
      expect(await write(1)).toBe('written');
      expect(await write(1)).toBe('stale');
      expect([await told(), (await store.answers(null).list(10)).length]).toEqual([1, 1]);
    });

    it('come with the run that asked; one that waits no more takes none', async () => {
      const record = newRecord({ state: 'waiting' });
      await store.runs.insert(record, []);
      const settle = (version: number, state: 'preparing' | 'failed') =>
        store.answers(null).write({
          rows: [rowOf()],
          seal: sealOf(version),
          run: { kind: 'settle', record: { ...record, state } },
          events: [EVENT],
        });
      expect(await settle(1, 'preparing')).toBe('written');
      expect(await settle(2, 'failed')).toBe('settled');
      expect((await store.runs.get(null, record.id))?.state).toBe('preparing');
      expect([await told(), (await store.answers(null).list(10)).length]).toEqual([1, 1]);
    });

    it('and when one part cannot be written, no part is', async () => {
      const record = newRecord();
      await store.runs.insert(record, []);
      const twice = { kind: 'insert' as const, record };
      await expect(
        store.answers(null).write({ rows: [rowOf()], seal: sealOf(1), run: twice, events: [EVENT] }),
      ).rejects.toThrow();
      expect([await told(), await store.answers(null).list(10), await store.answers(null).seal()]).toEqual([
        0,
        [],
        null,
      ]);
    });

    it('X-13 only a run that waits is settled, and once', async () => {
      const record = newRecord({ state: 'waiting' });
      await store.runs.insert(record, []);
      const other = await subject.open();
      const won = await Promise.all(
        [store, other].map(each => each.runs.settle({ ...record, state: 'failed' }, [EVENT])),
      );
      await other.close();
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await told()).toBe(1);
      expect(await store.runs.settle(newRecord({ id: 'nothing', state: 'failed' }), [])).toBe(false);
    });

    it('are all forgotten at once', async () => {
      await store.answers(null).write({ rows: [rowOf()], seal: sealOf(1), run: null, events: [] });
      await store.answers(null).clear([{ ...EVENT, type: 'approval.reset', data: {} }]);
      expect([await store.answers(null).list(10), await store.answers(null).seal(), await told()]).toEqual([
        [],
        null,
        1,
      ]);
    });
  });
}
