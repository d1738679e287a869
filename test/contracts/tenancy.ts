import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EntryFilter } from '../../src/audit/index.ts';
import type { RunCursor, RunQuery, RunRecord, Store } from '../../src/store/index.ts';
import { newEvent, TESTER } from '../support/events.ts';
import { newRecord } from '../support/record.ts';
import { ALL as ALL_ENTRIES } from './journal.ts';
import type { StoreSubject } from './store.ts';

const ANY: RunQuery = { states: null, skill: null, since: null, limit: 100, after: null };

/** What every store must hold between tenants: what is another's is not there. */
export function tenancyContract(name: string, make: () => Promise<StoreSubject>): void {
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

    it('old runs that have ended are forgotten, the oldest first; what goes on and what is young stays', async () => {
      const made = async (createdAt: number, state: RunRecord['state']) =>
        (await insert('old', { createdAt, state })).id;
      const [second, first] = [await made(20, 'failed'), await made(10, 'success')];
      const kept = [await made(5, 'waiting'), await made(6, 'queued'), await made(7, 'running')];
      const [third, young] = [await made(30, 'timeout'), await made(1000, 'success')];
      expect(await store.runs.listOldOfAllTenants(1000, 2)).toEqual([first, second]);
      await store.runs.removeOfAllTenants([first, second]);
      expect(await store.runs.listOldOfAllTenants(1000, 2)).toEqual([third]);
      await store.runs.removeOfAllTenants([third, ...kept, 'nothing']);
      expect(await store.runs.listOldOfAllTenants(1000, 2)).toEqual([]);
      const left = await store.runs.list('old', ANY);
      expect(left.map(run => run.id).sort()).toEqual([...kept, young].sort());
    });

    it('a run that has ended keeps its log and its artifacts no longer than it must; the rest of it stays', async () => {
      const artifacts = [{ path: 'x', bytes: 100, sha256: 'forgotten' }];
      const run = await insert('keeping', { createdAt: 50, output: { large: 'x'.repeat(10_000) } });
      const full: RunRecord = { ...run, state: 'success', artifacts, archive: { sha256: 'a', bytes: 9 }, logBytes: 7 };
      await store.runs.update(full, []);
      const going = await insert('keeping', { createdAt: 50, artifacts, state: 'running' });
      await store.runs.update({ ...going, logBytes: 3 }, []);
      const keeping = async () => (await store.runs.listKeepingOfAllTenants(100, null, 10)).map(each => each.id);
      expect(await keeping()).toEqual([run.id]);
      expect(await store.runs.listKeepingOfAllTenants(50, null, 10)).toEqual([]);
      expect(await store.runs.listKeepingOfAllTenants(100, run.id, 10)).toEqual([]);
      await store.runs.forgetOfAllTenants([run.id, going.id, 'nothing'], 'artifacts');
      expect(await store.runs.get('keeping', run.id)).toEqual({
        ...full,
        artifacts: [],
        archive: null,
        warnings: [expect.stringContaining('not kept')],
      });
      expect((await store.queue.usage('keeping')).storageBytes).toBe(7 + 103);
      expect(await keeping()).toEqual([run.id]);
      await store.runs.forgetOfAllTenants([run.id], 'log');
      expect(await keeping()).toEqual([]);
      expect(await store.runs.get('keeping', going.id)).toMatchObject({ artifacts, logBytes: 3 });
      await store.runs.update({ ...going, state: 'failed', artifacts: [] }, []);
    });

    it('every blob that a run names is told', async () => {
      const artifacts = [1, 2].map(at => ({ path: `f${at}`, bytes: 0, sha256: `artifact-${at}` }));
      const run = await insert('named');
      await store.runs.update({ ...run, state: 'success', artifacts, archive: { sha256: 'archive', bytes: 9 } }, []);
      const other = await insert(null);
      const sole = [{ path: 'g', bytes: 1, sha256: 'artifact-3' }];
      await store.runs.update({ ...other, state: 'failed', artifacts: sole }, []);
      const named = new Set<string>();
      for await (const sha256 of store.runs.blobsOfAllTenants()) named.add(sha256);
      expect([...named].sort()).toEqual(['archive', 'artifact-1', 'artifact-2', 'artifact-3']);
    });
  });
}
