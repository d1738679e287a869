import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readSkill } from '../../src/dialects/index.ts';
import { BUILD_LIMITS, createLayers, DEFAULT_INDEXES } from '../../src/layers/index.ts';
import { openParts } from '../../src/parts.ts';
import { planRun, runnerFor } from '../../src/runs/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { openFolder } from '../../src/skill/index.ts';
import { TESTER } from '../support/events.ts';
import { NO_SANDBOX, newSkill, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

/** A plan in a sandbox whose programs are those of an image, as docker's are. */
async function plan(files: Record<string, string>, standIn: Sandbox['standIn']) {
  const data = tempDir('stand-in');
  const parts = openParts(optionsOf(data));
  onTestFinished(() => parts.close());
  const machine = await parts.ready();
  const sandbox: Sandbox = { ...machine.sandbox, standIn };
  const layers = createLayers({
    directory: join(data, 'layers'),
    sandbox,
    programs: { search: [], notes: data },
    indexes: DEFAULT_INDEXES,
    allow: { sources: false, scripts: false },
    limits: BUILD_LIMITS,
    requires: new Map(),
  });
  const path = newSkill('python', 'print(1)\n');
  writeFiles(path, files);
  const folder = await openFolder(path);
  onTestFinished(() => folder.close());
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) throw new Error('the skill cannot be read');
  const call = { target: { kind: 'main' as const }, input: {}, stdin: null, mode: 'Global' as const, callerEnv: {} };
  const runner = runnerFor({ ...machine, sandbox, layers }, { tenant: null, actor: TESTER });
  return planRun(runner, { skill, folder, call, env: {}, workspace: null, timeoutMs: null }, null);
}

const PACKAGES = { 'requirements.txt': 'example==1.0.0\n' };
const silent = () => Promise.reject(new Error('the engine is silent'));

describe.skipIf(NO_SANDBOX)('the image that stands in for the programs of this machine', () => {
  test('is asked for once, so that an answer and packages are for the same one', async () => {
    let asked = 0;
    const planned = await plan(PACKAGES, async () => ({ name: 'base', digest: `sha256:${++asked}` }));
    expect(planned.standIn).toEqual({ name: 'base', digest: 'sha256:1' });
    expect(planned.layers).toMatchObject([{ manager: 'pip', path: null }]);
    expect(asked).toBe(1);
  });

  test('equals no other while the engine does not say which it is; packages cannot do without', async () => {
    expect((await plan({}, silent)).standIn).toEqual({ name: 'unknown', digest: 'unknown' });
    await expect(plan(PACKAGES, silent)).rejects.toThrow('the engine is silent');
  });
});
