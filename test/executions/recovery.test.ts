import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { DEFAULT_EXECUTIONS } from '../../src/in-process/index.ts';
import { openParts, type Parts } from '../../src/parts.ts';
import { thisOwner } from '../../src/sandbox/index.ts';
import type { RunRecord, Store } from '../../src/store/index.ts';
import { openStore } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { openService, publish, startOf } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const DEAD = JSON.stringify({ ...thisOwner(), startTime: thisOwner().startTime + 1 });
/** On another machine: only its sign of life can tell. */
const ELSEWHERE = JSON.stringify({ ...thisOwner(), bootId: 'another machine' });

/** A store as a server left it that was killed: the queue has a run, which `changes` makes what it is to be. */
async function left(changes: (record: RunRecord, store: Store) => Promise<void>) {
  const before = await openService(['a'], { executions: { ...DEFAULT_EXECUTIONS, slots: 0 } });
  const a = before.as('a');
  await publish(a, { name: 'marks', body: 'echo "attempt"\n' });
  const run = await a.runs.start(startOf('marks'), { idempotencyKey: null });
  await before.drain(0);
  const store = openStore(before.data, WRITER);
  const record = await store.queue.claim(DEAD, { running: 9, queued: 9 }, null);
  if (record === null) throw new Error('nothing is in line');
  await changes(record, store);
  await store.close();
  await before.close();
  return {
    id: run.id,
    async next(settings: Partial<typeof DEFAULT_EXECUTIONS> = {}, around: (store: Store) => Store = store => store) {
      const store = around(openStore(before.data, WRITER));
      const opened = await openService([], {
        data: before.data,
        parts: openParts(optionsOf(before.data, 'bubblewrap', 0), undefined, store),
        executions: { ...DEFAULT_EXECUTIONS, pollMs: 50, ...settings },
      });
      onTestFinished(() => opened.close());
      return opened;
    },
  };
}

describe.skipIf(NO_SANDBOX)('what a killed server leaves', { timeout: 60_000 }, () => {
  const ended = async (place: Awaited<ReturnType<typeof left>>, settings = {}) => {
    const { id } = place;
    const a = (await place.next(settings)).as('a');
    const run = await a.runs.wait(id, { timeoutMs: 20_000, signal: null });
    const { items } = await a.audit.list({ types: null, subject: id, since: null, limit: 50, after: null });
    return { run, told: items.map(entry => entry.type).reverse(), a };
  };

  test('not begun: it is put back in line, runs once, and the journal says so', async () => {
    const { run, told, a } = await ended(await left(async () => undefined));
    expect(run).toMatchObject({ state: 'success' });
    expect((await a.runs.logs(run.id, 0)).lines.map(line => line.text)).toEqual(['attempt\n']);
    expect(told).toEqual([
      'decision.made',
      'run.queued',
      'run.requeued',
      'decision.made',
      'run.accepted',
      'run.started',
      'run.ended',
    ]);
  });

  test('not begun, but its log was made already: the next attempt has one of its own', async () => {
    const { run, a } = await ended(
      await left(async (record, store) => {
        const log = await store.logs.create(record);
        log.write('stdout', Buffer.from('of the first attempt'));
        await log.close();
      }),
    );
    expect(run).toMatchObject({ state: 'success' });
    expect((await a.runs.logs(run.id, 0)).lines.map(line => line.text)).toEqual(['attempt\n']);
  });

  test.each(['running', 'collecting'] as const)('%s: it was interrupted, and is not run again', async state => {
    const { run, told, a } = await ended(
      await left(async (record, store) => {
        await store.runs.update({ ...record, state, waiting: null, startedAt: Date.now() }, []);
      }),
    );
    expect(run).toMatchObject({ state: 'failed', ending: { kind: 'interrupted' }, error: { code: 'INTERRUPTED' } });
    expect(told).toEqual(['decision.made', 'run.queued', 'run.interrupted']);
    // Which process of the server it was is not the tenant's to know.
    const [entry] = (
      await a.audit.list({ types: ['run.interrupted'], subject: run.id, since: null, limit: 1, after: null })
    ).items;
    expect(entry?.data).toEqual({ state, owner: null });
    expect((await a.runs.logs(run.id, 0)).lines).toEqual([]);
  });

  test('canceled before it had begun: it is not put back', async () => {
    const { run } = await ended(
      await left(async (record, store) => {
        await store.runs.requestCancel('a', record.id, []);
      }),
    );
    expect(run).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
  });

  test('canceled as it was put back in line: whoever takes it from there starts nothing', async () => {
    const { run, told } = await ended(
      await left(async (record, store) => {
        await store.queue.requeue({ ...record, owner: '' }, []);
        await store.runs.requestCancel('a', record.id, []);
      }),
    );
    expect(run).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
    expect(told).not.toContain('run.started');
  });

  test('a run that has taken several servers with it is not tried for ever', async () => {
    const place = await left(async (record, store) => {
      await store.queue.requeue(record, []);
      const again = await store.queue.claim(DEAD, { running: 9, queued: 9 }, null);
      expect(again?.attempt).toBe(2);
    });
    expect((await ended(place, { attempts: 2 })).run).toMatchObject({
      state: 'failed',
      ending: { kind: 'interrupted' },
    });
  });

  test('whoever lives elsewhere keeps its runs; whoever is silent for too long loses them', async () => {
    const place = await left(async (record, store) => {
      await store.runs.update({ ...record, owner: ELSEWHERE }, []);
      await store.queue.beat({ id: 'elsewhere', owner: ELSEWHERE, seenAt: Date.now() });
    });
    const opened = await place.next({ deadAfterMs: 60_000 });
    const a = opened.as('a');
    await opened.executions.recover();
    expect((await a.runs.get(place.id)).state).toBe('preparing');
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    await store.queue.beat({ id: 'elsewhere', owner: ELSEWHERE, seenAt: Date.now() - 61_000 });
    await opened.executions.recover();
    expect(await a.runs.wait(place.id, { timeoutMs: 20_000, signal: null })).toMatchObject({ state: 'success' });
  });

  test('a run of this very process that it has lost sight of is found, the second time', async () => {
    const place = await left(async (record, store) => {
      await store.runs.update({ ...record, owner: JSON.stringify(thisOwner()) }, []);
    });
    const opened = await place.next();
    const a = opened.as('a');
    expect((await a.runs.get(place.id)).state).toBe('preparing');
    await opened.executions.recover();
    expect(await a.runs.wait(place.id, { timeoutMs: 20_000, signal: null })).toMatchObject({ state: 'success' });
  });
});

describe.skipIf(NO_SANDBOX)('after the store was away', { timeout: 60_000 }, () => {
  test('nobody is taken for dead who could not give a sign of life; who gives none afterwards is', async () => {
    const place = await left(async (record, store) => {
      await store.runs.update({ ...record, owner: ELSEWHERE }, []);
      await store.queue.beat({ id: 'elsewhere', owner: ELSEWHERE, seenAt: Date.now() });
    });
    const away = { now: false };
    const opened = await place.next({ deadAfterMs: 1500, heartbeatMs: 50 }, store => ({
      ...store,
      queue: {
        ...store.queue,
        async beat(instance) {
          if (away.now) throw new SkillboxError('BACKEND_UNAVAILABLE', 'the database does not answer');
          await store.queue.beat(instance);
        },
      },
    }));
    const a = opened.as('a');
    away.now = true;
    await sleep(1700);
    await opened.executions.recover();
    expect((await a.runs.get(place.id)).state).toBe('preparing');
    away.now = false;
    await sleep(200);
    await opened.executions.recover();
    expect((await a.runs.get(place.id)).state).toBe('preparing');
    await sleep(1700);
    await opened.executions.recover();
    expect(await a.runs.wait(place.id, { timeoutMs: 20_000, signal: null })).toMatchObject({ state: 'success' });
  });
});

/** Counts the programs that the sandbox really starts. */
async function countStarts(parts: Parts): Promise<{ count: number }> {
  const { sandbox } = await parts.ready();
  const starts = { count: 0 };
  const prepare = sandbox.prepare.bind(sandbox);
  sandbox.prepare = async spec => {
    const handle = await prepare(spec);
    const start = handle.start.bind(handle);
    handle.start = io => {
      starts.count++;
      return start(io);
    };
    return handle;
  };
  return starts;
}

/** The first run is made ready only when the test says so, as where its packages are built. */
async function holdFirst(parts: Parts): Promise<{ goOn(): void }> {
  const { sandbox } = await parts.ready();
  const { promise, resolve } = Promise.withResolvers<void>();
  const prepare = sandbox.prepare.bind(sandbox);
  let count = 0;
  sandbox.prepare = async spec => {
    if (count++ === 0) await promise;
    return prepare(spec);
  };
  return { goOn: resolve };
}

describe.skipIf(NO_SANDBOX)('whoever was taken for dead', { timeout: 60_000 }, () => {
  test('starts nothing, and writes nothing over what became of the run', async () => {
    const data = tempDir('fence');
    const parts = openParts(optionsOf(data));
    const starts = await countStarts(parts);
    const opened = await openService(['a'], { data, parts });
    onTestFinished(() => opened.close());
    const a = opened.as('a');
    await publish(a, { name: 'marks', body: 'echo ran\n' });
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    // Between being recorded and beginning, somebody else puts it back in line, as after a long pause of this process.
    const run = await a.runs.start(startOf('marks'), { idempotencyKey: null });
    const record = await store.runs.get('a', run.id);
    const isTaken = record?.state === 'preparing' && (await store.queue.requeue({ ...record, owner: '' }, []));
    const done = await a.runs.wait(run.id, { timeoutMs: 20_000, signal: null });
    expect(isTaken).toBe(true);
    expect(done).toMatchObject({ state: 'success' });
    await expect.poll(() => opened.warnings.join(), { timeout: 5000 }).toContain('goes on without this process');
    const { items } = await a.audit.list({
      types: ['run.started'],
      subject: run.id,
      since: null,
      limit: 9,
      after: null,
    });
    expect(items).toHaveLength(1);
    expect((await a.runs.logs(run.id, 0)).lines.map(line => line.text)).toEqual(['ran\n']);
    expect(starts.count).toBe(1);
  });

  test('and takes the run again itself has it in sight, also when its earlier attempt comes to an end', async () => {
    const data = tempDir('again');
    const parts = openParts(optionsOf(data));
    const first = await holdFirst(parts);
    const opened = await openService(['a'], { data, parts, executions: { ...DEFAULT_EXECUTIONS, pollMs: 50 } });
    onTestFinished(() => opened.close());
    const a = opened.as('a');
    await publish(a, { name: 'slow', body: 'sleep 3\necho ran\n' });
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    const { id } = await a.runs.start(startOf('slow'), { idempotencyKey: null });
    const record = await store.runs.get('a', id);
    expect(record?.state === 'preparing' && (await store.queue.requeue({ ...record, owner: '' }, []))).toBe(true);
    await expect.poll(async () => (await a.runs.get(id)).state, { timeout: 5000 }).toBe('running');
    first.goOn();
    await expect.poll(() => opened.warnings.join(), { timeout: 5000 }).toContain('goes on without this process');
    for (let look = 0; look < 3; look++) await opened.executions.recover();
    expect((await a.runs.get(id)).state).toBe('running');
    expect(await a.runs.wait(id, { timeoutMs: 20_000, signal: null })).toMatchObject({ state: 'success' });
  });
});
