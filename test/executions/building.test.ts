import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { DEFAULT_EXECUTIONS } from '../../src/in-process/index.ts';
import type { LayerHooks } from '../../src/layers/index.ts';
import { openParts } from '../../src/parts.ts';
import { makeZip } from '../skill/make-zip.ts';
import { bytesOf } from '../support/record.ts';
import { openService, startOf } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const HEAD = 'name: builds\nversion: 1.0.0\ndescription: Made for a test. Use when asked.\nlang: python';
const ZIP = makeZip([
  { name: 'SKILL.md', content: `---\n${HEAD}\n---\n\nDo it.\n` },
  { name: 'scripts/main.py', content: 'print(1)\n' },
  { name: 'requirements.txt', content: 'example==1.0.0\n' },
]);

/** A server whose builds take until somebody gives them up. */
async function open() {
  const data = tempDir('building');
  const parts = openParts(optionsOf(data));
  const machine = await parts.ready();
  const builds = { begun: 0 };
  machine.layers = {
    ...machine.layers,
    find: async () => null,
    async ensure(_request: unknown, { signal }: LayerHooks) {
      builds.begun++;
      if (signal !== null && !signal.aborted) await once(signal, 'abort');
      throw new SkillboxError('DEPENDENCIES_FAILED', 'the build was given up');
    },
  };
  const opened = await openService(['a'], { data, parts });
  onTestFinished(() => opened.close());
  const a = opened.as('a');
  await a.skills.publish(bytesOf(ZIP), { tags: [], version: null });
  const run = await a.runs.start(startOf('builds'), { idempotencyKey: null });
  await expect.poll(() => builds.begun).toBe(1);
  expect((await a.runs.get(run.id)).state).toBe('preparing');
  return { opened, a, run };
}

describe.skipIf(NO_SANDBOX)('while its packages are built', { timeout: 30_000 }, () => {
  test('a run is canceled at once', async () => {
    const { a, run } = await open();
    expect(await a.runs.cancel(run.id)).toBe(true);
    expect(await a.runs.wait(run.id, { timeoutMs: 10_000, signal: null })).toMatchObject({
      state: 'failed',
      ending: { kind: 'canceled' },
      error: { code: 'CANCELED' },
    });
  });

  test('and by another process', async () => {
    const { opened, a, run } = await open();
    const other = await openService([], { data: opened.data, executions: { ...DEFAULT_EXECUTIONS, slots: 0 } });
    onTestFinished(() => other.close());
    expect(await other.as('a').runs.cancel(run.id)).toBe(true);
    const done = await a.runs.wait(run.id, { timeoutMs: 10_000, signal: null });
    expect(done).toMatchObject({ state: 'failed', ending: { kind: 'canceled' } });
  });

  test('it goes back in line when the server is stopped', async () => {
    const { opened, a, run } = await open();
    await opened.drain(100);
    expect(await a.runs.get(run.id)).toMatchObject({ state: 'queued', ending: null, error: null });
    const { items } = await a.audit.list({ types: null, subject: run.id, since: null, limit: 9, after: null });
    expect(items.map(({ type }) => type)).toEqual(['run.requeued', 'run.accepted', 'decision.made']);
  });
});
