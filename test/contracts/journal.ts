import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EntryFilter, openAudit, type Verified } from '../../src/audit/index.ts';
import type { Store } from '../../src/store/index.ts';
import { newEvent, TESTER } from '../support/events.ts';
import { newRecord } from '../support/record.ts';
import type { StoreSubject } from './store.ts';

export const ALL: EntryFilter = {
  types: null,
  subject: null,
  sinceMs: null,
  untilMs: null,
  tenants: null,
  beforeSeq: null,
};

const verify = (store: Store): Promise<Verified> => openAudit(store.journal, '/nowhere').verify(null, null);
const typesOf = async (store: Store, subject: string) =>
  (await store.journal.list({ ...ALL, subject }, 100)).entries.map(({ type }) => type);

/** What every store must hold of the journal. */
export function journalContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: journal`, () => {
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

    it('an entry holds the event, its place, and the hash of the one before', async () => {
      const events = [
        newEvent({ subject: 'a' }),
        newEvent({ subject: 'b', data: { odd: '\u0000\ud83d\ude00', list: [1] } }),
      ];
      await store.journal.append(...events);
      const [first, second] = (await store.journal.list(ALL, 2)).entries;
      expect(first).toMatchObject({ ...events[0], chain: store.journal.id, seq: 1, prev: '0'.repeat(64) });
      expect(second).toMatchObject({ ...events[1], seq: 2, prev: first?.hash });
      expect(Math.abs((second?.time ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    it('each tenant has a chain of its own, and no name leads into another', async () => {
      for (const tenant of ['a', 'a/b', '', 'é', 'a']) await store.journal.append(newEvent({ tenant }));
      const heads = await store.journal.heads();
      const own = heads.filter(({ chain }) => chain !== store.journal.id);
      const lengths = own.map(({ chain, seq }): [string, number] => [chain.slice(store.journal.id.length), seq]);
      expect(Object.fromEntries(lengths)).toEqual({ '/': 1, '/a': 2, '/a/b': 1, '/é': 1 });
      expect((await verify(store)).wrong).toBeNull();
    });

    it('what only tells of a reading has its place in the chain like the rest', async () => {
      const subjects = ['full', 'noted', 'noted again', 'full again'];
      for (const [at, subject] of subjects.entries()) {
        const event = newEvent({ subject, tenant: 'reader' });
        await (at === 1 || at === 2 ? store.journal.note(event) : store.journal.append(event));
      }
      const { entries } = await store.journal.list({ ...ALL, tenants: ['reader'] }, 10);
      expect(entries.map(({ subject, seq }) => [subject, seq])).toEqual(
        subjects.map((subject, at) => [subject, at + 1]),
      );
      expect((await verify(store)).wrong).toBeNull();
      await expect(store.journal.note(newEvent({ data: { half: 0.5 } }))).rejects.toThrow();
    });

    it('a run and its events are written together', async () => {
      const record = newRecord();
      const told = (type: 'run.accepted' | 'run.started' | 'run.ended') => [newEvent({ type, subject: record.id })];
      await store.runs.insert(record, told('run.accepted'));
      await store.runs.update({ ...record, state: 'running' }, told('run.started'));
      await store.runs.update({ ...record, state: 'success' }, told('run.ended'));
      expect(await typesOf(store, record.id)).toEqual(['run.accepted', 'run.started', 'run.ended']);
    });

    it('what did not happen is not told', async () => {
      const record = newRecord();
      const told = [newEvent({ subject: record.id })];
      expect(await store.runs.update(record, told)).toBe(false);
      expect(await store.runs.requestCancel(null, record.id, told)).toBe(false);
      await store.runs.insert({ ...record, state: 'success' }, []);
      await expect(store.runs.insert(record, told)).rejects.toThrow();
      expect(await store.runs.update({ ...record, state: 'failed' }, told)).toBe(false);
      expect(await store.runs.requestCancel(null, record.id, told)).toBe(false);
      expect(await typesOf(store, record.id)).toEqual([]);
    });

    it('what cannot be told does not happen: neither is written', async () => {
      const record = newRecord();
      // A fraction has no canonical text, so this event cannot be written.
      const untellable = [newEvent(), newEvent({ data: { half: 0.5 } })];
      const before = await store.journal.heads();
      await expect(store.runs.insert(record, untellable)).rejects.toThrow();
      expect(await store.runs.get(null, record.id)).toBeNull();
      await store.runs.insert(record, []);
      await expect(store.runs.update({ ...record, state: 'success' }, untellable)).rejects.toThrow();
      await expect(store.runs.requestCancel(null, record.id, untellable)).rejects.toThrow();
      expect(await store.runs.get(null, record.id)).toMatchObject({ state: 'preparing' });
      expect(await store.runs.isCancelRequested(record.id)).toBe(false);
      await expect(store.journal.append(...untellable)).rejects.toThrow();
      expect(await store.journal.heads()).toEqual(before);
    });

    it('entries are found by type, subject and time, the newest of them, in order', async () => {
      const key = 'find-me';
      for (const at of [1, 2, 3, 4])
        await store.journal.append(
          newEvent({ subject: key, type: at % 2 ? 'trust.added' : 'trust.removed', data: { at } }),
        );
      const find = async (filter: Partial<EntryFilter>, limit = 10) =>
        (await store.journal.list({ ...ALL, subject: key, ...filter }, limit)).entries.map(({ data }) => data.at);
      expect(await find({})).toEqual([1, 2, 3, 4]);
      expect(await find({}, 2)).toEqual([3, 4]);
      expect(await find({ types: ['trust.added'] })).toEqual([1, 3]);
      expect(await find({ types: [] })).toEqual([]);
      expect(await find({ sinceMs: Date.now() + 60_000 })).toEqual([]);
      expect(await find({ untilMs: Date.now() + 60_000 })).toEqual([1, 2, 3, 4]);
      expect(await find({ untilMs: 1 })).toEqual([]);
      expect(await find({ subject: "' OR 1=1 --" })).toEqual([]);
    });

    it('whoever follows sees each entry once, whatever else is written or moved away', async () => {
      const filter = { ...ALL, subject: 'followed' };
      const other = await subject.open();
      let { position } = await store.journal.list(filter, 1);
      const seen: unknown[] = [];
      for (let at = 0; at < 20; at++) {
        await other.journal.append(newEvent(), newEvent({ subject: 'followed', data: { at } }), newEvent());
        if (at % 6 === 5) await other.journal.rotate(Number.MAX_SAFE_INTEGER, TESTER);
        if (at % 7 !== 0) continue;
        const page = await store.journal.after(position, filter, 3);
        seen.push(...page.entries.map(({ data }) => data.at));
        position = page.position;
      }
      for (let last = -1; last !== position; ) {
        last = position;
        const page = await store.journal.after(position, filter, 3);
        seen.push(...page.entries.map(({ data }) => data.at));
        position = page.position;
      }
      await other.close();
      expect(seen).toEqual(Array.from({ length: 20 }, (_, at) => at));
    });

    it('after all of it, the journal is whole', async () => {
      const { wrong, entries, chains } = await verify(store);
      expect(wrong).toBeNull();
      expect(entries).toBe(chains.reduce((sum, { seq }) => sum + seq, 0));
    });
  });
}
