import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { operator } from '../../src/callers/index.ts';
import { DEFAULT_EXECUTIONS, DEFAULT_QUOTAS } from '../../src/in-process/index.ts';
import type { Run, Service } from '../../src/service/index.ts';
import { openStore } from '../../src/store/index.ts';
import { TESTER } from '../support/events.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { askingZip, openService, publish, startOf, type TestService } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

const QUICK = 'echo done\n';
const ENDLESS = 'echo begun; sleep 600\n';

async function open(options: Parameters<typeof openService>[1] = {}, slots = 1): Promise<TestService> {
  const opened = await openService(['a', 'b', 'c'], {
    executions: { ...DEFAULT_EXECUTIONS, slots, pollMs: 100 },
    ...options,
  });
  onTestFinished(() => opened.close());
  for (const tenant of ['a', 'b', 'c']) {
    await publish(opened.as(tenant), { name: 'quick', body: QUICK });
    await publish(opened.as(tenant), { name: 'endless', body: ENDLESS });
  }
  return opened;
}

const start = (service: Service, skill: string) => service.runs.start(startOf(skill), { idempotencyKey: null });
const ended = (service: Service, run: Run) => service.runs.wait(run.id, { timeoutMs: 20_000, signal: null });
const untilRunning = async (service: Service, run: Run) => {
  await expect.poll(async () => (await service.runs.get(run.id)).state, { timeout: 10_000 }).toBe('running');
};
const stateOf = async (service: Service, run: Run) => (await service.runs.get(run.id)).state;

describe.skipIf(NO_SANDBOX)('the line before the slots', { timeout: 60_000 }, () => {
  test('what finds no slot waits, is worked off in turn, and can be canceled where it stands', async () => {
    const opened = await open();
    const a = opened.as('a');
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const [second, third] = [await start(a, 'quick'), await start(a, 'quick')];
    expect([second.state, third.state]).toEqual(['queued', 'queued']);
    expect(await a.runs.cancel(second.id)).toBe(true);
    expect(await a.runs.get(second.id)).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
    expect(await a.runs.cancel(second.id)).toBe(false);
    expect(await stateOf(a, third)).toBe('queued');
    await a.runs.cancel(first.id);
    expect(await ended(a, third)).toMatchObject({ state: 'success', decision: { verdict: 'allow' } });
    await expect.poll(() => opened.executions.status).toMatchObject({ slots: 1, busy: 0 });
    expect(opened.warnings).toEqual([]);
  });

  test('one tenant cannot hold up the others: turns go round', async () => {
    const opened = await open();
    const [a, b] = [opened.as('a'), opened.as('b')];
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const many = [];
    for (let count = 0; count < 5; count++) many.push(await start(a, 'quick'));
    const other = await start(b, 'quick');
    await a.runs.cancel(first.id);
    const done = await ended(b, other);
    for (const run of many) await ended(a, run);
    const startedAt = await Promise.all(many.map(async run => (await a.runs.get(run.id)).startedAt ?? 0));
    expect(startedAt.filter(at => at < (done.startedAt ?? 0))).toEqual([]);
  });

  test('a tenant beyond its quota is refused with when to come back, and nothing of it is kept', async () => {
    const quotas = { ...DEFAULT_QUOTAS, running: 1, queued: 2 };
    const opened = await open({ quotas }, 4);
    const [a, b] = [opened.as('a'), opened.as('b')];
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const line = [await start(a, 'quick'), await start(a, 'quick')];
    expect(line.map(run => run.state)).toEqual(['queued', 'queued']);
    await expect(start(a, 'quick')).rejects.toMatchObject({
      code: 'QUEUE_FULL',
      status: 429,
      details: { retryAfterSeconds: expect.any(Number) },
    });
    expect((await a.runs.list({ states: null, skill: null, since: null, limit: 10, after: null })).items).toHaveLength(
      3,
    );
    // There are slots left, and another tenant has them.
    expect(await ended(b, await start(b, 'quick'))).toMatchObject({ state: 'success' });
    expect(await Promise.all(line.map(run => stateOf(a, run)))).toEqual(['queued', 'queued']);
    await a.runs.cancel(first.id);
    for (const run of line) expect(await ended(a, run)).toMatchObject({ state: 'success' });
  });

  test('whoever finds the line full by others is told so, and nothing of who they are', async () => {
    const opened = await open({ executions: { ...DEFAULT_EXECUTIONS, slots: 1, queueLimit: 1 } });
    const [a, b] = [opened.as('a'), opened.as('b')];
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    await start(a, 'quick');
    await expect(start(b, 'quick')).rejects.toMatchObject({
      code: 'QUEUE_FULL',
      message: 'the line of this server is full',
      details: { retryAfterSeconds: expect.any(Number) },
    });
    await a.runs.cancel(first.id);
  });

  test('a tenant that keeps as much as it may is refused', async () => {
    const opened = await open();
    await opened.callers.tenantsFor(operator(TESTER)).update('a', { quotas: { storageBytes: 10 }, disabled: null });
    await expect(start(opened.as('a'), 'quick')).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      status: 507,
    });
  });

  test('what comes from the line is judged again: a rule that was written meanwhile holds', async () => {
    const opened = await open();
    const a = opened.as('a');
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const queued = await start(a, 'quick');
    writeFileSync(
      join(opened.data, 'policy.yaml'),
      'version: 1\nrules:\n  - name: nothing-more\n    when: {}\n    verdict: deny\n    why: It is late.\n',
    );
    await a.runs.cancel(first.id);
    expect(await ended(a, queued)).toMatchObject({
      state: 'failed',
      ending: { kind: 'denied' },
      decision: { verdict: 'deny' },
    });
  });

  test('what comes from the line and is to be asked for by now waits for a person', async () => {
    const opened = await open();
    const [a, second] = [opened.as('a'), opened.as('a', 'other')];
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const queued = await start(a, 'quick');
    writeFileSync(
      join(opened.data, 'policy.yaml'),
      'version: 1\nrules:\n  - name: ask\n    when: {}\n    verdict: ask\n    why: Look at it.\n',
    );
    await a.runs.cancel(first.id);
    expect(await ended(a, queued)).toMatchObject({ state: 'waiting' });
    await second.approvals.answer(queued.id, 'once');
    expect(await ended(a, queued)).toMatchObject({ state: 'success', approval: { answer: 'once' } });
  });

  test('a skill whose copy is gone is fetched again; one that cannot be had ends the run and nothing else', async () => {
    const opened = await open();
    const a = opened.as('a');
    const first = await start(a, 'endless');
    await untilRunning(a, first);
    const [fetched, lost] = [await start(a, 'quick'), await start(a, 'quick')];
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    const record = await store.runs.get('a', lost.id);
    if (record === null) throw new Error('there is no such run');
    const { version, digest } = record.skill;
    const gone = { ...record.skill, name: 'gone', version, digest: digest.replace(/[0-9a-f]{8}$/, '00000000') };
    await store.queue.leave({ ...record, skill: gone }, []);
    rmSync(join(opened.data, 'snapshots'), { recursive: true });
    await a.runs.cancel(first.id);
    expect(await ended(a, fetched)).toMatchObject({ state: 'success' });
    expect(await ended(a, lost)).toMatchObject({ state: 'failed', error: { code: 'NOT_FOUND' } });
    expect(await ended(a, await start(a, 'quick'))).toMatchObject({ state: 'success' });
  });
});

describe.skipIf(NO_SANDBOX)('stopping', { timeout: 60_000 }, () => {
  test('a drain waits for what is on the way, takes nothing more, and leaves the line for the next process', async () => {
    const opened = await open();
    const a = opened.as('a');
    await publish(a, { name: 'short', body: 'sleep 0.7; echo done\n' });
    const [running, queued] = [await start(a, 'short'), await start(a, 'quick')];
    await untilRunning(a, running);
    const drained = opened.drain(20_000);
    await expect(start(a, 'quick')).rejects.toMatchObject({ code: 'SHUTTING_DOWN', status: 503 });
    await drained;
    expect(await a.runs.get(running.id)).toMatchObject({ state: 'success' });
    expect(await stateOf(a, queued)).toBe('queued');
    const next = await openService([], { data: opened.data });
    onTestFinished(() => next.close());
    expect(await ended(next.as('a'), queued)).toMatchObject({ state: 'success' });
  });

  test('what has not ended at the deadline was interrupted, not canceled', async () => {
    const opened = await open();
    const a = opened.as('a');
    const run = await start(a, 'endless');
    await untilRunning(a, run);
    await opened.drain(50);
    expect(await a.runs.get(run.id)).toMatchObject({
      state: 'failed',
      ending: { kind: 'interrupted' },
      error: { code: 'INTERRUPTED' },
    });
  });
});

describe.skipIf(NO_SANDBOX)('several processes on one store', { timeout: 60_000 }, () => {
  test('one follows, cancels and answers for what another runs', async () => {
    const opened = await open({}, 2);
    const other = await openService([], {
      data: opened.data,
      // It has no slot to speak of: what it takes in, the other runs.
      executions: { ...DEFAULT_EXECUTIONS, slots: 0, pollMs: 100 },
    });
    onTestFinished(() => other.close());
    const [a, there] = [opened.as('a'), other.as('a')];
    const run = await start(there, 'endless');
    expect(run.state).toBe('queued');
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of there.runs.follow(run.id, { offset: 0, signal: null }))
        seen.push(event.kind === 'state' ? event.run.state : event.line.text.trim());
    })();
    await expect.poll(() => seen, { timeout: 10_000 }).toContain('begun');
    expect(await there.runs.cancel(run.id)).toBe(true);
    await following;
    expect(seen[0]).toBe('queued');
    expect(seen.at(-1)).toBe('failed');
    expect(await ended(a, run)).toMatchObject({ ending: { kind: 'canceled' } });
    await there.skills.publish(bytesOf(askingZip('asks')), { tags: [], version: null });
    const asked = await there.runs.start(
      startOf('asks', { target: { kind: 'tool', name: 'say', arguments: { word: 'yes' } } }),
      { idempotencyKey: null },
    );
    await other.as('a', 'second').approvals.answer(asked.id, 'once');
    expect(await ended(there, asked)).toMatchObject({ state: 'success' });
  });
});

test.skipIf(NO_SANDBOX)('a run that goes wrong while it is made ready gives its slot back', async () => {
  const opened = await open({}, 1);
  const a = opened.as('a');
  // Its log cannot be written: nothing starts, and the run says why.
  rmSync(join(opened.data, 'logs'), { recursive: true, force: true });
  writeFileSync(join(opened.data, 'logs'), 'no directory');
  const run = await start(a, 'quick');
  expect(await ended(a, run)).toMatchObject({ state: 'failed', error: { code: 'UNWRITABLE' } });
  rmSync(join(opened.data, 'logs'));
  await sleep(10);
  expect(await ended(a, await start(a, 'quick'))).toMatchObject({ state: 'success' });
  expect(existsSync(join(opened.data, 'logs'))).toBe(true);
  await expect.poll(() => opened.executions.status.busy).toBe(0);
});
