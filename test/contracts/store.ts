import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EntryFilter } from '../../src/audit/index.ts';
import type { RunCursor, RunQuery, RunRecord, RunState, Store } from '../../src/store/index.ts';
import { newEvent, TESTER } from '../support/events.ts';
import { bytesOf, newRecord, readAll } from '../support/record.ts';

const ANY: RunQuery = { states: null, skill: null, since: null, limit: 100, after: null };

const ALL_ENTRIES: EntryFilter = {
  types: null,
  subject: null,
  sinceMs: null,
  untilMs: null,
  tenants: null,
  beforeSeq: null,
};

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

  describe(`${name}: tenants`, () => {
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
    const TENANTS = [null, 'a', 'b', 'A', 'a/b', '%'] as const;
    const insert = async (tenant: string | null, changes: Partial<RunRecord> = {}) => {
      const record = newRecord({ tenant, ...changes });
      await store.runs.insert(record, []);
      return record;
    };

    it('a run is there for its own tenant alone: read, listed, found, canceled', async () => {
      const made = new Map<string | null, RunRecord>();
      for (const tenant of TENANTS) made.set(tenant, await insert(tenant));
      for (const tenant of TENANTS) {
        const own = made.get(tenant) as RunRecord;
        expect(await store.runs.get(tenant, own.id)).toEqual(own);
        expect((await store.runs.list(tenant, ANY)).map(run => run.id)).toEqual([own.id]);
        expect(await store.runs.find(tenant, own.id.slice(0, -1))).toContain(own.id);
        for (const other of TENANTS.filter(each => each !== tenant)) {
          expect(await store.runs.get(other, own.id), `${tenant} by ${other}`).toBeNull();
          expect(await store.runs.find(other, own.id)).toEqual([]);
          expect(await store.runs.requestCancel(other, own.id, [])).toBe(false);
          expect(await store.runs.settle({ ...own, tenant: other, state: 'failed' }, [])).toBe(false);
        }
        expect(await store.runs.isCancelRequested(own.id)).toBe(false);
      }
      const all = await store.runs.listOfAllTenants(['preparing'], 100);
      expect(new Set(all.map(run => run.id))).toEqual(new Set([...made.values()].map(run => run.id)));
    });

    it('a list goes on where the page before it ended, also among runs of one moment', async () => {
      const at = Date.now();
      for (let count = 0; count < 7; count++) await insert('paged', { createdAt: at + (count < 4 ? 0 : count) });
      const whole = (await store.runs.list('paged', ANY)).map(run => run.id);
      const paged: string[] = [];
      for (let after: RunCursor | null = null; ; ) {
        const page: RunRecord[] = await store.runs.list('paged', { ...ANY, limit: 2, after });
        paged.push(...page.map(run => run.id));
        const last = page.at(-1);
        if (last === undefined) break;
        after = { createdAt: last.createdAt, id: last.id };
      }
      expect(whole).toHaveLength(7);
      expect(paged).toEqual(whole);
    });

    it('a list is by skill and by time as well', async () => {
      const of = (name: string) => ({ name, version: null, digest: 'd', dialect: 'skillbox' });
      const old = await insert('by', { skill: of('one'), createdAt: 1000 });
      const other = await insert('by', { skill: of('two'), createdAt: 2000 });
      const young = await insert('by', { skill: of('one'), createdAt: 3000 });
      const ids = async (query: Partial<RunQuery>) =>
        (await store.runs.list('by', { ...ANY, ...query })).map(run => run.id);
      expect(await ids({ skill: 'one' })).toEqual([young.id, old.id]);
      expect(await ids({ since: 2000 })).toEqual([young.id, other.id]);
      expect(await ids({ skill: 'one', since: 2000, states: ['preparing'] })).toEqual([young.id]);
      expect(await ids({ skill: 'one', states: ['success'] })).toEqual([]);
    });

    it('whoever has lost a run to another attempt writes nothing', async () => {
      const record = await insert('fenced', { attempt: 3 });
      expect(await store.runs.update({ ...record, attempt: 2, state: 'success' }, [newEvent()])).toBe(false);
      expect(await store.runs.get('fenced', record.id)).toEqual(record);
      expect(await store.runs.update({ ...record, state: 'success' }, [])).toBe(true);
    });

    it('answers and their seal are a tenant’s own', async () => {
      const row = (id: string) => ({
        id,
        binding: 'same',
        refusal: 'r',
        origin: 'same',
        createdAt: 1,
        body: '{}',
        mac: 'm',
      });
      const write = (tenant: string | null, id: string) =>
        store
          .answers(tenant)
          .write({ rows: [row(id)], seal: { version: 1, body: '{}', mac: 'm' }, run: null, events: [] });
      for (const tenant of TENANTS) expect(await write(tenant, `of ${tenant}`)).toBe('written');
      for (const tenant of TENANTS) {
        const rows = store.answers(tenant);
        const own = [`of ${tenant}`];
        const lists = [await rows.byBinding('same'), await rows.byOrigin('same'), await rows.list(10)];
        for (const list of [...lists, await rows.byIds(TENANTS.map(each => `of ${each}`))])
          expect(list.map(({ id }) => id)).toEqual(own);
        expect(await write(tenant, 'second')).toBe('stale');
      }
      await store.answers('a').clear([]);
      expect([await store.answers('a').list(10), await store.answers('a').seal()]).toEqual([[], null]);
      expect(await store.answers('b').seal()).not.toBeNull();
    });

    it('the journal shows a tenant its own chain, page by page', async () => {
      for (const tenant of TENANTS)
        for (const at of [1, 2, 3]) await store.journal.append(newEvent({ tenant, subject: 'shown', data: { at } }));
      const shown = async (filter: Partial<EntryFilter>, limit = 100) =>
        (await store.journal.list({ ...ALL_ENTRIES, subject: 'shown', ...filter }, limit)).entries;
      for (const tenant of TENANTS) {
        const entries = await shown({ tenants: [tenant] });
        expect(entries.map(entry => [entry.tenant, entry.data.at])).toEqual([1, 2, 3].map(at => [tenant, at]));
        const [, second] = entries;
        const before = await shown({ tenants: [tenant], beforeSeq: second?.seq ?? 0 });
        expect(before.map(({ data }) => data.at)).toEqual([1]);
        const { entries: later } = await store.journal.after(0, { ...ALL_ENTRIES, tenants: [tenant] }, 1000);
        expect(new Set(later.map(entry => entry.tenant))).toEqual(new Set([tenant]));
      }
      expect(await shown({ tenants: ['nobody'] })).toEqual([]);
      expect(await shown({ tenants: [] })).toEqual([]);
      expect(new Set((await shown({ tenants: ['a', null] })).map(entry => entry.tenant))).toEqual(new Set(['a', null]));
      await store.journal.rotate(Number.MAX_SAFE_INTEGER, TESTER);
      expect((await shown({ tenants: ['a'] })).map(({ data }) => data.at)).toEqual([1, 2, 3]);
    });
  });

  describe(`${name}: blobs`, () => {
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

    it('content comes back under its own SHA-256', async () => {
      const content = Buffer.alloc(300_000, 'abc');
      const blob = await store.blobs.put(
        bytesOf(content.subarray(0, 1), content.subarray(1, 200_000), content.subarray(200_000)),
      );
      expect(blob).toEqual({ sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length });
      expect((await readAll(store.blobs.read(blob.sha256))).equals(content)).toBe(true);
      expect(store.blobs.url(blob.sha256)).toContain(blob.sha256);
    });

    it('nothing is content too', async () => {
      const blob = await store.blobs.put(bytesOf());
      expect(await readAll(store.blobs.read(blob.sha256))).toEqual(Buffer.alloc(0));
    });

    it('equal content at once is one blob', async () => {
      const blobs = await Promise.all(Array.from({ length: 8 }, () => store.blobs.put(bytesOf('same'))));
      expect(new Set(blobs.map(({ sha256 }) => sha256)).size).toBe(1);
      expect((await readAll(store.blobs.read(blobs[0]?.sha256 ?? ''))).toString()).toBe('same');
    });

    it('a source that breaks leaves no blob', async () => {
      const broken = async function* () {
        yield Buffer.from('half');
        throw new Error('broken');
      };
      await expect(store.blobs.put(broken())).rejects.toThrow();
      expect(store.blobs.read(createHash('sha256').update('half').digest('hex'))).toBeNull();
    });

    it.each(['', 'x', '../../etc/passwd', 'A'.repeat(64), `${'0'.repeat(63)}/`, '0'.repeat(64)])(
      'there is no blob %j',
      name => expect(store.blobs.read(name)).toBeNull(),
    );
  });
}
