import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { askModel, MODEL_LIMITS } from '../../src/cli/model-command.ts';
import { checkHelp, HELP_TIMEOUT_MS } from '../../src/cli/skill-test-runs.ts';
import { readSkill } from '../../src/dialects/index.ts';
import { openDirectory } from '../../src/skill/index.ts';
import { NO_SANDBOX, openSkillbox } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { trustIn } from '../support/trust.ts';
import { writeFiles } from '../temp.ts';

tidy();

const io = (signal = new AbortController().signal) =>
  ({ cwd: tempDir('cwd'), env: { PATH: process.env.PATH ?? '' }, interrupt: signal }) as unknown as Io;
const program = (body: string): [string, string, string] => [process.execPath, '-e', body];
const ask = (body: string, limits = {}, signal?: AbortSignal) =>
  askModel(program(body), 'a prompt', '/skill', io(signal), { ...MODEL_LIMITS, ...limits });

describe('a model command', () => {
  test('has five minutes and a mebibyte', () => {
    expect(MODEL_LIMITS).toEqual({ timeoutMs: 300_000, answerBytes: 1024 ** 2 });
  });

  test('that never answers is ended, with all that holds its pipes', async () => {
    const child = 'require("child_process").spawn("sleep", ["60"], { stdio: "inherit" }); setInterval(() => {}, 1000);';
    expect(await ask(child, { timeoutMs: 400 })).toEqual({ problem: 'the model command took longer than 0.4 s' });
  });

  test('that has answered is not waited for because of what it started', async () => {
    const started = 'require("child_process").spawn("sleep", ["60"], { stdio: "inherit" }).unref();';
    const begun = Date.now();
    expect(await ask(`${started} console.log("yes")`)).toEqual({ answer: 'yes\n' });
    expect(await ask(`${started} process.exitCode = 3`)).toEqual({ problem: 'the model command ended with code 3' });
    expect(Date.now() - begun).toBeLessThan(20_000);
    // Nor where that goes on to print.
    const printing = `require("child_process").spawn("sh", ["-c", "while :; do echo x; sleep 0.1; done"], { stdio: "inherit" }).unref();`;
    expect(await ask(printing, { timeoutMs: 2000 })).toEqual({ problem: 'the model command took longer than 2 s' });
    expect(await ask(printing, { answerBytes: 10 })).toEqual({
      problem: 'the model command printed more than 10 bytes',
    });
  });

  test('that says too much is ended', async () => {
    const endless = 'const say = () => process.stdout.write("x".repeat(1000), say); say();';
    expect(await ask(endless, { answerBytes: 10_000 })).toEqual({
      problem: 'the model command printed more than 10000 bytes',
    });
    expect(await ask('process.stdout.write("x".repeat(10_000))', { answerBytes: 10_000 })).toEqual({
      answer: 'x'.repeat(10_000),
    });
  });

  test('ends when a person wants no more of it', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    expect(await ask('setInterval(() => {}, 1000)', {}, controller.signal)).toMatchObject({
      problem: expect.stringContaining('cannot be run'),
    });
  });
});

describe.skipIf(NO_SANDBOX)('--help of a script', () => {
  test('has thirty seconds; one that does not end by then fails', async () => {
    expect(HELP_TIMEOUT_MS).toBe(30_000);
    const path = writeFiles(join(tempDir('skill', 0o755), 'probe'), {
      'SKILL.md': '---\nname: probe\ndescription: Probes.\n---\nDo.\n',
      'scripts/slow.sh': 'sleep 60\n',
      'scripts/quick.sh': 'echo usage\n',
    });
    const data = join(tempDir('data'), 'data');
    trustIn(data, path);
    const skillbox = await openSkillbox(data);
    const folder = openDirectory(path);
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    if (skill === null) throw new Error('the skill does not load');
    try {
      const tested = { skill, folder, skillbox, io: io() };
      expect(await checkHelp(tested, 'scripts/slow.sh', 1000)).toMatchObject({
        result: 'fail',
        why: expect.stringContaining('--help timeout'),
      });
      expect(await checkHelp(tested, 'scripts/quick.sh', 20_000)).toMatchObject({ result: 'pass' });
    } finally {
      folder.close();
      await skillbox.close();
    }
  });
});
