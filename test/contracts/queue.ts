import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/index.ts';
import type { Admission, RunKey, RunRecord, Store, WaitingRun } from '../../src/store/index.ts';
import { newEvent } from '../support/events.ts';
import { newRecord } from '../support/record.ts';
import type { StoreSubject } from './store.ts';

const MANY = { running: 100, queued: 100 };
const OWNER = '{"owner":"me"}';
const waitingWith = (call: JsonObject): WaitingRun => ({
  expiresAt: 9e12,
  origin: { kind: 'registry', path: 'registry:demo', publisher: 'k' },
  folderName: null,
  call,
  env: {},
  workspace: null,
  timeoutMs: null,
  askedIn: null,
  callKey: '',
  locks: [],
});
const keyOf = (key: string, fingerprint = 'f'): RunKey => ({ key, fingerprint, since: Date.now() - 60_000 });

/** What every queue must hold, whatever is behind it and however many processes share it. */
export function queueContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: queue`, () => {
    let subject: StoreSubject;
    let store: Store;
    beforeEach(async () => {
      subject = await make();
      store = await subject.open();
    });
    afterEach(async () => {
      await store.close();
      await subject.close();
    });

    let clock = Date.now();
    const admission = (tenant: string | null, changes: Partial<Admission> = {}): Admission => {
      const record = newRecord({ tenant, createdAt: clock++ });
      return {
        begin: { record, events: [newEvent({ tenant, subject: record.id, type: 'run.accepted' })] },
        queue: { record: { ...record, state: 'queued' }, events: [newEvent({ tenant, subject: record.id })] },
        hasRoom: true,
        quotas: MANY,
        defaults: MANY,
        queueLimit: 1000,
        key: null,
        ...changes,
      };
    };
    const inLine = async (tenant: string | null, changes: Partial<Admission> = {}): Promise<RunRecord> => {
      const wish = admission(tenant, { hasRoom: false, ...changes });
      expect(await store.queue.admit(wish)).toBe('queued');
      return wish.queue.record;
    };
    const claimed = async (defaults = MANY) => (await store.queue.claim(OWNER, defaults, null))?.id ?? null;
    const end = async (tenant: string | null, id: string) => {
      const record = await store.runs.get(tenant, id);
      if (record === null) throw new Error('there is no such run');
      expect(await store.runs.update({ ...record, state: 'success' }, [])).toBe(true);
    };
    const told = async () => (await store.journal.heads()).reduce((sum, { seq }) => sum + seq, 0);

    it('a run begins when there is room and nobody is in line, and waits otherwise', async () => {
      const first = admission('a');
      expect(await store.queue.admit(first)).toBe('begun');
      expect(await store.runs.get('a', first.begin.record.id)).toEqual(first.begin.record);
      const second = await inLine('a');
      expect((await store.runs.get('a', second.id))?.state).toBe('queued');
      // There is room again, but somebody came before.
      const third = admission('b');
      expect(await store.queue.admit(third)).toBe('queued');
      expect(await store.queue.usage('a')).toEqual({ running: 1, queued: 1, storageBytes: 0 });
      expect(await store.queue.usage('b')).toEqual({ running: 0, queued: 1, storageBytes: 0 });
      expect(await store.queue.lengthOfAllTenants()).toEqual({ running: 1, queued: 2 });
      expect(await told()).toBe(3);
    });

    it('a tenant has no more on the way and in line than it may; the others are not held up by it', async () => {
      const tight = { quotas: { running: 1, queued: 1 }, defaults: { running: 1, queued: 1 } };
      expect(await store.queue.admit(admission('a', tight))).toBe('begun');
      expect(await store.queue.admit(admission('a', tight))).toBe('queued');
      const over = admission('a', tight);
      expect(await store.queue.admit(over)).toBe('full');
      expect(await store.runs.get('a', over.begin.record.id)).toBeNull();
      // Whoever is in line could not have the room: it is free for another.
      expect(await store.queue.admit(admission('b', tight))).toBe('begun');
      expect(await claimed(tight.defaults)).toBeNull();
    });

    it('the line is bounded for all tenants together', async () => {
      for (const tenant of ['a', 'b']) await inLine(tenant);
      expect(await store.queue.admit(admission('c', { hasRoom: false, queueLimit: 2 }))).toBe('full');
      expect(await store.queue.admit(admission('c', { hasRoom: false, queueLimit: 3 }))).toBe('queued');
    });

    it('turns go round: the tenant with the fewest on the way, then the oldest', async () => {
      const [a1, a2, a3] = [await inLine('a'), await inLine('a'), await inLine('a')];
      const [b1, c1, b2] = [await inLine('b'), await inLine('c'), await inLine('b')];
      const order: (string | null)[] = [];
      for (let turn = 0; turn < 7; turn++) order.push(await claimed());
      expect(order).toEqual([a1, b1, c1, a2, b2, a3].map(run => run.id).concat([null as unknown as string]));
    });

    it('turns go round by name when all have as many, however few slots there are', async () => {
      const runs = [];
      for (const tenant of ['a', 'a', 'a', 'b', 'b', null]) runs.push(await inLine(tenant));
      const order: (string | null)[] = [];
      let last: string | null = null;
      for (let turn = 0; turn < 7; turn++) {
        const run: RunRecord | null = await store.queue.claim(OWNER, MANY, last);
        if (run === null) break;
        order.push(run.tenant);
        last = run.tenant ?? '';
        await end(run.tenant, run.id);
      }
      expect(order).toEqual(['a', 'b', null, 'a', 'b', 'a']);
    });

    it('one that ends gives its turn to whoever has the least, not to whoever came first', async () => {
      await inLine('a');
      await inLine('a');
      await claimed();
      const running = await claimed();
      const [a3, b1] = [await inLine('a'), await inLine('b')];
      await end('a', running ?? '');
      expect(await claimed()).toBe(b1.id);
      expect(await claimed()).toBe(a3.id);
    });

    it('what the store knows of a tenant counts: its own quota, and that it was disabled', async () => {
      const quotas = { running: 1, queued: 10, storageBytes: 1, requestsPerMinute: 1 };
      await store.tenants.insert({ name: 'a', createdAt: 1, disabledAt: null, quotas }, []);
      await store.tenants.insert({ name: 'off', createdAt: 1, disabledAt: 5, quotas }, []);
      const first = await inLine('a');
      await inLine('a');
      await inLine('off');
      expect(await claimed()).toBe(first.id);
      expect(await claimed()).toBeNull();
      await end('a', first.id);
      expect(await claimed()).not.toBeNull();
      expect(await claimed()).toBeNull();
    });

    it('whoever takes a run has it as preparing, with its own name on it', async () => {
      const run = await inLine(null);
      expect(await store.queue.claim(OWNER, MANY, null)).toEqual({ ...run, state: 'preparing', owner: OWNER });
      expect(await store.runs.get(null, run.id)).toEqual({ ...run, state: 'preparing', owner: OWNER });
    });

    it('several who take at once never take the same', async () => {
      const ids = new Set<string>();
      for (let count = 0; count < 30; count++) ids.add((await inLine(['a', 'b', null][count % 3] ?? null)).id);
      const others = await Promise.all([subject.open(), subject.open(), subject.open()]);
      const taken: string[] = [];
      await Promise.all(
        [store, ...others].map(async each => {
          for (;;) {
            const run = await each.queue.claim(OWNER, MANY, null);
            if (run === null) return;
            taken.push(run.id);
          }
        }),
      );
      for (const other of others) await other.close();
      expect(taken).toHaveLength(30);
      expect(new Set(taken)).toEqual(ids);
    });

    it('several who ask at once never get more than the quota', async () => {
      const others = await Promise.all([subject.open(), subject.open()]);
      const quotas = { running: 3, queued: 4 };
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          ([store, ...others][at % 3] as Store).queue.admit(admission('a', { quotas, defaults: quotas })),
        ),
      );
      for (const other of others) await other.close();
      const count = (word: string) => answers.filter(answer => answer === word).length;
      expect([count('begun'), count('queued'), count('full')]).toEqual([3, 4, 5]);
    });

    it('a run that had not begun goes back, first in line, and whoever had it has lost it', async () => {
      const run = await inLine('a');
      await inLine('a');
      const mine = await store.queue.claim(OWNER, MANY, null);
      if (mine === null) throw new Error('nothing was taken');
      expect(await store.queue.requeue(mine, [newEvent({ tenant: 'a' })])).toBe(true);
      expect(await store.runs.get('a', run.id)).toMatchObject({ state: 'queued', attempt: mine.attempt + 1 });
      expect(await store.queue.requeue(mine, [newEvent()])).toBe(false);
      expect(await store.runs.update({ ...mine, state: 'running' }, [newEvent()])).toBe(false);
      expect(await claimed()).toBe(run.id);
      expect(await store.runs.update({ ...mine, state: 'running' }, [])).toBe(false);
      expect(await told()).toBe(3);
    });

    it('a run that has begun, or has ended, never goes back', async () => {
      for (const state of ['running', 'collecting', 'success', 'failed', 'timeout'] as const) {
        await inLine('a');
        const mine = await store.queue.claim(OWNER, MANY, null);
        if (mine === null) throw new Error('nothing was taken');
        await store.runs.update({ ...mine, state }, []);
        expect(await store.queue.requeue(mine, [newEvent()])).toBe(false);
        expect((await store.runs.get('a', mine.id))?.state).toBe(state);
      }
    });

    it('a run leaves the line once: canceled or taken, not both', async () => {
      const runs = [];
      for (let count = 0; count < 10; count++) runs.push(await inLine('a'));
      const other = await subject.open();
      const taken: string[] = [];
      const left: string[] = [];
      await Promise.all([
        (async () => {
          for (
            let run = await other.queue.claim(OWNER, MANY, null);
            run !== null;
            run = await other.queue.claim(OWNER, MANY, null)
          )
            taken.push(run.id);
        })(),
        ...runs.map(async run => {
          if (await store.queue.leave({ ...run, state: 'failed' }, [])) left.push(run.id);
        }),
      ]);
      await other.close();
      expect([...taken, ...left].sort()).toEqual(runs.map(run => run.id).sort());
    });

    it('a key stands for one run of its tenant', async () => {
      const first = admission('a', { key: keyOf('k', 'one') });
      expect(await store.queue.admit(first)).toBe('begun');
      expect(await store.queue.admit(admission('a', { key: keyOf('k', 'one') }))).toBe('taken');
      expect(await store.queue.admit(admission('a', { key: keyOf('k', 'two'), hasRoom: false }))).toBe('taken');
      expect(await store.queue.record({ record: newRecord({ tenant: 'a' }), events: [] }, keyOf('k'), 9)).toBe('taken');
      expect(await store.queue.findKey('a', keyOf('k'))).toEqual({ fingerprint: 'one', run: first.begin.record.id });
      expect(await store.queue.findKey('b', keyOf('k'))).toBeNull();
      expect(await store.queue.findKey(null, keyOf('k'))).toBeNull();
      expect(await store.queue.admit(admission('b', { key: keyOf('k', 'two') }))).toBe('begun');
      const denied = newRecord({ tenant: 'a', state: 'failed' });
      expect(await store.queue.record({ record: denied, events: [newEvent()] }, keyOf('denied'), 0)).toBe('written');
      expect((await store.queue.findKey('a', keyOf('denied')))?.run).toBe(denied.id);
    });

    it('a tenant has only so many that wait for a person, and what they hold counts as kept', async () => {
      const call = { stdin: 'x'.repeat(1000) };
      const waiting = (tenant: string) => newRecord({ tenant, state: 'waiting', waiting: waitingWith(call) });
      const record = (tenant: string) => store.queue.record({ record: waiting(tenant), events: [] }, null, 2);
      const first = waiting('a');
      expect(await store.queue.record({ record: first, events: [] }, null, 2)).toBe('written');
      expect(await record('a')).toBe('written');
      expect(await store.queue.record({ record: waiting('a'), events: [] }, keyOf('third'), 2)).toBe('full');
      expect(await store.queue.findKey('a', keyOf('third'))).toBeNull();
      expect(await record('b')).toBe('written');
      expect((await store.queue.usage('a')).storageBytes).toBeGreaterThan(2000);
      // Whoever is answered makes room for the next, and holds nothing any more.
      const denied = { ...first, state: 'failed' as const, waiting: null };
      expect(await store.runs.settle(denied, [])).toBe(true);
      expect((await store.queue.usage('a')).storageBytes).toBeLessThan(2000);
      expect(await store.queue.record({ record: waiting('a'), events: [] }, keyOf('third'), 2)).toBe('written');
      const queued = admission('c', { hasRoom: false });
      queued.queue.record.waiting = waitingWith(call);
      expect(await store.queue.admit(queued)).toBe('queued');
      expect((await store.queue.usage('c')).storageBytes).toBeGreaterThan(1000);
      await claimed();
      expect((await store.queue.usage('c')).storageBytes).toBe(0);
    });

    it('a key that is refused for want of room stays free', async () => {
      const none = { running: 0, queued: 0 };
      expect(await store.queue.admit(admission('a', { key: keyOf('k'), quotas: none }))).toBe('full');
      expect(await store.queue.findKey('a', keyOf('k'))).toBeNull();
    });

    it('an old key is free again, and is forgotten in the end', async () => {
      const old = admission('a', { key: keyOf('k') });
      await store.queue.admit(old);
      const later = { ...keyOf('k', 'other'), since: old.begin.record.createdAt + 1 };
      expect(await store.queue.findKey('a', later)).toBeNull();
      expect(await store.queue.admit(admission('a', { key: later }))).toBe('begun');
      expect((await store.queue.findKey('a', later))?.fingerprint).toBe('other');
      await store.queue.forgetKeys(clock + 1);
      expect(await store.queue.findKey('a', { key: 'k', since: 0 })).toBeNull();
    });

    it('two with the same key at once: one run', async () => {
      const others = await Promise.all([subject.open(), subject.open()]);
      const answers = await Promise.all(
        [store, ...others].map(each => each.queue.admit(admission('a', { key: keyOf('k') }))),
      );
      for (const other of others) await other.close();
      expect(answers.sort()).toEqual(['begun', 'taken', 'taken']);
    });

    it('what a run keeps counts for its tenant when it has ended', async () => {
      const run = newRecord({ tenant: 'a' });
      await store.runs.insert(run, []);
      const artifacts = [{ path: 'x', bytes: 100, sha256: 's' }];
      const archive = { sha256: 't', bytes: 50 };
      await store.runs.update({ ...run, state: 'success', artifacts, archive, logBytes: 7 }, []);
      expect(await store.queue.usage('a')).toEqual({ running: 0, queued: 0, storageBytes: 157 });
      expect((await store.queue.usage(null)).storageBytes).toBe(0);
    });

    it('processes say that they live, and are forgotten', async () => {
      await store.queue.beat({ id: 'one', owner: 'o1', seenAt: 1000 });
      await store.queue.beat({ id: 'two', owner: 'o2', seenAt: 2000 });
      await store.queue.beat({ id: 'one', owner: 'o1', seenAt: 3000 });
      await store.queue.beat({ id: 'three', owner: 'o3', seenAt: 3000 });
      await store.queue.forgetInstances({ id: 'three' });
      await store.queue.forgetInstances({ seenBefore: 2500 });
      expect(await store.queue.instances()).toEqual([{ id: 'one', owner: 'o1', seenAt: 3000 }]);
    });
  });
}
