import { spawnSync } from 'node:child_process';
import { chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXAMPLES, NO_SANDBOX, PROBES } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const PROGRAM = join(import.meta.dirname, '../../dist/cli/skillbox.cjs');
const WORDS = join(EXAMPLES, 'skillbox/word-count');
/** No system gives this number to anybody. */
const NOBODY_KNOWS = 1_234_567;
const isRoot = process.getuid?.() === 0;

type Env = Record<string, string>;

/** The program of an account without an entry, in a directory of its own, which must stay empty. */
function run(words: string[], env: Env): { code: number | null; out: string; err: string } {
  const cwd = tempDir('cwd');
  chownSync(cwd, NOBODY_KNOWS, NOBODY_KNOWS);
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], {
    cwd,
    env: { PATH: '/usr/bin:/bin', ...env },
    uid: NOBODY_KNOWS,
    gid: NOBODY_KNOWS,
    encoding: 'utf8',
  });
  expect(readdirSync(cwd)).toEqual([]);
  return { code: status, out: stdout, err: stderr };
}

const HOMES: [string, Env][] = [
  ['no HOME', {}],
  ['an empty HOME', { HOME: '' }],
  ['a relative HOME', { HOME: 'here' }],
];

describe.runIf(isRoot).each(HOMES)('an account that the system does not know, with %s', (_name, home) => {
  test('is told what to set, where something must be kept', () => {
    for (const words of [
      ['exec', 'list'],
      ['run', WORDS],
      ['catalog', '--json'],
    ]) {
      const { code, out, err } = run(words, home);
      expect(code).toBe(2);
      expect(out + err).toContain('there is no home directory');
      expect(out + err).toContain('Set HOME or SKILLBOX_DATA_DIR.');
    }
    expect(run(['skill', 'lint', WORDS], home)).toMatchObject({ code: 0 });
  });

  test('does without a home where the data has a place', () => {
    const data = tempDir('data');
    chownSync(data, NOBODY_KNOWS, NOBODY_KNOWS);
    const env = { ...home, SKILLBOX_DATA_DIR: data };
    for (const words of [
      ['exec', 'list'],
      ['catalog'],
      ['policy', 'show'],
      ['skill', 'scan', WORDS],
      ['agents', 'list'],
    ])
      expect({ words, ...run(words, env) }).toMatchObject({ words, code: 0 });
    expect(run(['add', WORDS, '--global'], env)).toMatchObject({
      code: 2,
      err: expect.stringContaining('Set HOME.'),
    });
    if (NO_SANDBOX) return;
    const script = [join(PROBES, 'script-probe'), 'probe.py'];
    expect(run(['run', ...script, '--workspace', '.', '--dry-run'], env)).toMatchObject({ code: 0, err: '' });
    const { out } = run(['run', WORDS, '--input', '{"text":"a b"}', '--json'], env);
    expect(JSON.parse(out)).toMatchObject({ status: 'success', output: { words: 2 } });
  });
});
