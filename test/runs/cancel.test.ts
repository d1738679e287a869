import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord, Skillbox } from '../../src/app.ts';
import { EXAMPLES, NO_SANDBOX, newSkill, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SLOW = join(EXAMPLES, 'skillbox/slow-steps');
const input = { steps: 600, seconds: 0.1 };

describe.skipIf(NO_SANDBOX)('cancel', () => {
  const data = tempDir('data');
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(data);
  });
  afterAll(() => skillbox?.close());
  const CANCELED = { state: 'failed', ending: { kind: 'canceled' }, error: { code: 'CANCELED' }, exitCode: null };
  const nothingLeft = async () => {
    await skillbox.settled();
    expect(readdirSync(join(data, 'sandbox/runs'))).toEqual([]);
  };

  test('SB-10 while it runs: output, files and log so far are kept', async () => {
    const controller = new AbortController();
    const record = await runSkill(skillbox, SLOW, {
      input,
      signal: controller.signal,
      onChunk: (_stream, chunk) => chunk.toString().startsWith('step 2') && controller.abort(),
    });
    expect(record).toMatchObject({ ...CANCELED, output: { complete: false } });
    expect(record.artifacts.map(({ path }) => path)).toEqual(['steps.txt']);
    expect(await textOf(skillbox, record)).toMatch(/asked to end\n$/);
    await nothingLeft();
  });

  test('from another handle on the same store, by the beginning of the id', async () => {
    const other = await openSkillbox(data);
    const record = await runSkill(skillbox, SLOW, {
      input,
      onChunk: (_stream, chunk) => {
        if (chunk.toString().startsWith('step 1 '))
          void other
            .listRuns({ states: ['running'], limit: 1 })
            .then(([run]) => other.cancelRun(run?.id.slice(0, 20) ?? ''));
      },
    });
    expect(record).toMatchObject(CANCELED);
    expect(await other.cancelRun(record.id)).toBe(false);
    await other.close();
  });

  test('before it starts: nothing of the skill runs', async () => {
    const record = await runSkill(skillbox, newSkill('bash', 'echo ran\n'), { signal: AbortSignal.abort() });
    expect(record).toMatchObject(CANCELED);
    expect(await textOf(skillbox, record)).toBe('');
    await nothingLeft();
  });

  test.each(['preparing', 'running', 'collecting'] as const)('while it is %s it ends cleanly', async state => {
    const controller = new AbortController();
    const seen: string[] = [];
    const record = await runSkill(skillbox, newSkill('bash', 'echo ran; echo 1 > $SANDBOX_OUTPUT\n'), {
      signal: controller.signal,
      onState: run => {
        seen.push(run.state);
        if (run.state === state) controller.abort();
      },
    });
    // What is collected already ran to its end, and that is what it is.
    if (state === 'collecting') expect(record).toMatchObject({ state: 'success', output: 1 });
    else expect(record).toMatchObject(CANCELED);
    expect(seen).toEqual(['preparing', 'running', 'collecting', record.state]);
    expect(await skillbox.getRun(record.id)).toMatchObject({ state: record.state, endedAt: expect.any(Number) });
    await nothingLeft();
  });

  test('a caller whose hook throws gets its error, and the run is over and recorded', async () => {
    const failing = runSkill(skillbox, newSkill('bash', 'echo one; echo two\n'), {
      onChunk: () => {
        throw new Error('the hook broke');
      },
    });
    await expect(failing).rejects.toThrow('the hook broke');
    const [record] = await skillbox.listRuns({ states: null, limit: 1 });
    expect(record).toMatchObject({
      state: 'failed',
      ending: { kind: 'interrupted' },
      error: { message: 'the hook broke' },
    });
    await nothingLeft();
  });

  test('states, times and ids of many runs at once do not mix', async () => {
    const skill = newSkill('bash', 'echo "$SANDBOX_INPUT"; echo "$SANDBOX_INPUT" > $SANDBOX_OUTPUT\n');
    const records: RunRecord[] = await Promise.all(
      Array.from({ length: 6 }, (_, at) => runSkill(skillbox, skill, { input: `run ${at}` })),
    );
    for (const [at, record] of records.entries()) {
      expect(record).toMatchObject({ state: 'success', output: `run ${at}` });
      expect(await textOf(skillbox, record)).toBe(`"run ${at}"\n`);
      expect(record.createdAt).toBeLessThanOrEqual(record.startedAt ?? 0);
      expect(record.startedAt).toBeLessThanOrEqual(record.endedAt ?? 0);
    }
    expect(new Set(records.map(({ id }) => id)).size).toBe(6);
    await nothingLeft();
  });
});
