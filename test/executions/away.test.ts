import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { DEFAULT_EXECUTIONS } from '../../src/in-process/index.ts';
import { openParts } from '../../src/parts.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { openService, publish, startOf } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

/** Sooner than a store that hangs is given up. */
const SOON_MS = 10_000;
const FAULT = 'cannot use the bucket "skills" at http://10.1.2.3:9000: it does not answer';

/** A server whose blobs nobody reaches while `away` says so. */
async function open(slots: number) {
  const data = tempDir('away');
  const real = openStore(data, WRITER);
  const away = { now: false, hangs: false, records: null as 'lost' | 'answer lost' | null };
  let goOn = () => {};
  const hanging = new Promise<void>(resolve => {
    goOn = resolve;
  });
  const guard = () => {
    if (away.now) throw new SkillboxError('BACKEND_UNAVAILABLE', FAULT);
  };
  const store: Store = {
    ...real,
    runs: {
      ...real.runs,
      async update(...change) {
        if (away.records === 'lost') throw new SkillboxError('BACKEND_UNAVAILABLE', FAULT);
        const answer = await real.runs.update(...change);
        if (away.records === 'answer lost') throw new SkillboxError('BACKEND_UNAVAILABLE', FAULT);
        return answer;
      },
    },
    blobs: {
      ...real.blobs,
      async put(content) {
        guard();
        if (away.hangs) await hanging;
        return real.blobs.put(content);
      },
      async read(sha256, range) {
        guard();
        return real.blobs.read(sha256, range);
      },
    },
  };
  const parts = openParts(optionsOf(data, 'bubblewrap', 0), undefined, store);
  const executions = { ...DEFAULT_EXECUTIONS, slots, pollMs: 50 };
  const service = await openService(['a'], { data, parts, executions });
  onTestFinished(async () => {
    goOn();
    await service.close();
  });
  return { data, away, service, a: service.as('a') };
}

const LEAVES = 'echo made > "$SANDBOX_FILES_DIR/file"\nsleep 1\n';

describe.skipIf(NO_SANDBOX)('blobs that are away', { timeout: 60_000 }, () => {
  it('where what a run left cannot be stored it fails with its code; where they are is for the log alone', async () => {
    const { a, away, service } = await open(2);
    await publish(a, { name: 'leaves', body: LEAVES });
    const run = await a.runs.start(startOf('leaves'), { idempotencyKey: null });
    away.now = true;
    const ended = await a.runs.wait(run.id, { timeoutMs: 20_000, signal: null });
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'BACKEND_UNAVAILABLE' } });
    expect(JSON.stringify(ended)).not.toMatch(/10\.1\.2\.3|"skills"/);
    const { items } = await a.audit.list({ types: null, subject: run.id, since: null, limit: 50, after: null });
    expect(JSON.stringify(items)).not.toContain('10.1.2.3');
    expect(service.warnings.join()).toContain(FAULT);
    expect(service.warnings.join()).toContain(run.id);
  });

  it('a run that is canceled while what it left is stored ends at once, as canceled', async () => {
    const { a, away } = await open(2);
    await publish(a, { name: 'leaves', body: LEAVES });
    away.hangs = true;
    const run = await a.runs.start(startOf('leaves'), { idempotencyKey: null });
    await expect.poll(async () => (await a.runs.get(run.id)).state, { timeout: 10_000 }).toBe('collecting');
    expect(await a.runs.cancel(run.id)).toBe(true);
    const ended = await a.runs.wait(run.id, { timeoutMs: SOON_MS, signal: null });
    expect(ended).toMatchObject({ state: 'failed', ending: { kind: 'canceled' }, artifacts: [], archive: null });
  });

  it('a server that stops does not wait for a store that hangs', async () => {
    const { a, away, service } = await open(2);
    await publish(a, { name: 'leaves', body: LEAVES });
    await publish(a, { name: 'endless', body: `${LEAVES}sleep 60\n` });
    const start = (skill: string) => a.runs.start(startOf(skill), { idempotencyKey: null });
    away.hangs = true;
    const runs = [await start('leaves'), await start('endless')];
    await expect.poll(async () => (await a.runs.get(runs[0]?.id ?? '')).state, { timeout: 10_000 }).toBe('collecting');
    const late = new Promise(resolve => setTimeout(resolve, SOON_MS, 'it waits on'));
    expect(await Promise.race([service.drain(100), late])).toBeUndefined();
    for (const { id } of runs)
      expect(await a.runs.get(id)).toMatchObject({ state: 'failed', ending: { kind: 'interrupted' } });
  });

  it.each(['lost', 'answer lost'] as const)(
    'a run whose end is %s while the records are away has it when they are back, told once',
    async what => {
      const { a, away, service } = await open(2);
      await publish(a, { name: 'short', body: 'sleep 1\n' });
      const run = await a.runs.start(startOf('short'), { idempotencyKey: null });
      await expect.poll(async () => (await a.runs.get(run.id)).state, { timeout: 10_000 }).toBe('running');
      away.records = what;
      setTimeout(() => {
        away.records = null;
      }, 2500);
      const ended = await a.runs.wait(run.id, { timeoutMs: 20_000, signal: null });
      expect(ended).toMatchObject({ state: 'success' });
      await expect.poll(() => away.records, { timeout: 10_000 }).toBe(null);
      const { items } = await a.audit.list({ types: null, subject: run.id, since: null, limit: 50, after: null });
      expect(items.filter(({ type }) => type === 'run.ended')).toHaveLength(1);
      expect(await a.runs.get(run.id)).toMatchObject({ state: 'success', error: null });
      await service.drain(0);
      expect(service.warnings).toEqual([]);
    },
  );

  it('what waits in line waits on, and is not worked off as failures', async () => {
    const { a, away, data, service } = await open(1);
    await publish(a, { name: 'first', body: 'sleep 600\n' });
    await publish(a, { name: 'later', body: 'echo ran\n' });
    const first = await a.runs.start(startOf('first'), { idempotencyKey: null });
    const line = [];
    for (let count = 0; count < 3; count++) line.push(await a.runs.start(startOf('later'), { idempotencyKey: null }));
    expect(line.map(({ state }) => state)).toEqual(['queued', 'queued', 'queued']);
    // Another machine has no copy of the skill yet.
    await expect.poll(async () => (await a.runs.get(first.id)).state).toBe('running');
    renameSync(join(data, 'snapshots'), join(data, 'elsewhere'));
    away.now = true;
    await a.runs.cancel(first.id);
    await expect.poll(() => service.warnings.length, { timeout: 10_000 }).toBeGreaterThan(0);
    const states = await Promise.all(line.map(async ({ id }) => (await a.runs.get(id)).state));
    expect(states).toEqual(['queued', 'queued', 'queued']);
    away.now = false;
    for (const { id } of line)
      expect(await a.runs.wait(id, { timeoutMs: 20_000, signal: null })).toMatchObject({ state: 'success' });
  });
});
