import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord, Skillbox } from '../../src/app.ts';
import { processesMarked } from '../support/attack.ts';
import { NO_SANDBOX, openSkillbox, PROBES, runSkill, textOf, tool, type Wish } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

type Envelope = {
  success: boolean;
  exit_code: number | null;
  output: string;
  truncated: boolean;
  error?: string;
  parsed?: unknown;
};
const envelopeOf = (record: RunRecord) => record.output as unknown as Envelope;

describe.skipIf(NO_SANDBOX)('tools', () => {
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(tempDir('data'));
  });
  afterAll(() => skillbox?.close());
  const run = (wish: Wish, skill = 'tool-probe') => runSkill(skillbox, join(PROBES, skill), wish);

  test('GB-06/12/14 one value is one argument, and the environment is exactly what the rule names', async () => {
    const words = ['a b', '$(id); rm -rf /', "it's", '{{words}}', 'é'];
    const inherited = { LANG: 'de_DE.UTF-8', LC_ALL: 'C', TERM: 'xterm' };
    const names = [
      'PATH',
      'HOME',
      'USER',
      'GITHUB_TOKEN',
      'AWS_REGION',
      'OPENAI_API_KEY',
      'LC_API_KEY',
      'EDITOR',
      'LD_PRELOAD',
    ];
    const callerEnv = { ...inherited, ...Object.fromEntries(names.map(name => [name, '/evil'])) };
    const record = await run({ target: tool('report', { words }), callerEnv });
    const { success, exit_code, truncated, parsed } = envelopeOf(record);
    expect({ success, exit_code, truncated }).toEqual({ success: true, exit_code: 0, truncated: false });
    const { env, ...seen } = parsed as { env: Record<string, string> };
    expect(seen).toEqual({ argv: words, cwd: '/workspace', here: [] });
    const { PATH, ...others } = env;
    expect(PATH).not.toContain('/evil');
    expect(others).toEqual({
      HOME: '/workspace',
      USER: 'skill',
      ...inherited,
      GIBBERISH_SKILL_NAME: 'tool-probe',
      GIBBERISH_SKILL_DIR: '/skill',
      GIBBERISH_MODE: 'Global',
    });
  });

  test('GB-13 long output is cut in the envelope and whole in the log', async () => {
    const record = await run({ target: tool('print_much', { lines: 1000 }) });
    const { output, truncated } = envelopeOf(record);
    const whole = await textOf(skillbox, record);
    expect(truncated).toBe(true);
    expect(output).toMatch(/\.\.\. \[truncated \d+ bytes\] \.\.\./);
    // The two are merged in the order read, and a busy reader may find all of both at once.
    expect(output).toMatch(/\nline 1000 ö\n(to stderr\n)?$/);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(4096 + 40);
    expect(whole).toContain('line 500 ö\n');
    expect(whole).toContain('to stderr\n');
    expect(record.logBytes).toBe(Buffer.byteLength(whole));
  });

  test('GB-11 a tool may write into the repository, unless it is read_only', async () => {
    const workspace = tempDir('repository', 0o755);
    execFileSync('git', ['init', '-q', workspace]);
    const refused = await run({ target: tool('write_here'), workspace }, 'tool-probe-read-only');
    expect(envelopeOf(refused)).toMatchObject({
      success: false,
      output: expect.stringContaining('Read-only file system'),
    });
    expect(readdirSync(workspace)).toEqual(['.git']);
    const done = await run({ target: tool('write_here'), workspace });
    expect(envelopeOf(done).success).toBe(true);
    expect(existsSync(join(workspace, 'written.txt'))).toBe(true);
  });

  test('GB-16 a command that is not there has an error of its own', async () => {
    await expect(run({ target: tool('missing') })).rejects.toMatchObject({ code: 'RUNTIME_MISSING' });
    const [record] = await skillbox.listRuns({ states: ['failed'], limit: 1 });
    expect(record).toMatchObject({ target: 'missing', error: { code: 'RUNTIME_MISSING' } });
  });

  test('GB-15 at the time limit the tool hears SIGTERM, and nothing of it survives', { timeout: 30_000 }, async () => {
    const mark = `sb-mark-${randomBytes(6).toString('hex')}`;
    let during: number[] = [];
    const record = await run({
      target: tool('linger', { mark }),
      timeoutMs: 1000,
      onChunk: (_stream, chunk) => {
        if (chunk.toString().includes('heard')) during = processesMarked(mark);
      },
    });
    expect(record).toMatchObject({ state: 'timeout', error: { code: 'TIMEOUT' } });
    expect(envelopeOf(record)).toMatchObject({ success: false, exit_code: null, error: 'Timeout exceeded' });
    expect(envelopeOf(record).output).toBe('lingering\nheard SIGTERM\n');
    expect(during).toHaveLength(1);
    expect(processesMarked(mark)).toEqual([]);
  });

  test('GB-15 canceled: the same, with its own error and what was printed so far', { timeout: 30_000 }, async () => {
    const mark = `sb-mark-${randomBytes(6).toString('hex')}`;
    const controller = new AbortController();
    const record = await run({
      target: tool('linger', { mark }),
      signal: controller.signal,
      onChunk: () => controller.abort(),
    });
    expect(record).toMatchObject({ state: 'failed', ending: { kind: 'canceled' }, error: { code: 'CANCELED' } });
    expect(envelopeOf(record)).toMatchObject({
      success: false,
      error: 'Canceled',
      output: expect.stringMatching(/^lingering\n/),
    });
    expect(processesMarked(mark)).toEqual([]);
  });
});
