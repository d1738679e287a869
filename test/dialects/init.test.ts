import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { type Call, invokeSkill, readSkill } from '../../src/dialects/index.ts';
import { DEFAULT_DESCRIPTION, initFiles } from '../../src/dialects/init.ts';
import { DIALECTS, type DialectName, openDirectory } from '../../src/skill/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const root = tempDirectory();
let count = 0;

function plant(dialect: DialectName, name = 'word-count', description = DEFAULT_DESCRIPTION): string {
  const files = initFiles({ name, dialect, description });
  const named = files.map(({ path, text, executable }): [string, string] => [executable ? `${path}*` : path, text]);
  return writeFiles(join(root, String(count++), name), Object.fromEntries(named));
}

function read(path: string) {
  return readSkill(openDirectory(path), { mode: 'strict', dialect: null });
}

function run(program: string, args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', input: '', ...options });
  return { status, stdout, stderr };
}

describe.each(DIALECTS)('a new %s skill', dialect => {
  test('X-01 is read as what it is, without a finding', () => {
    const { diagnostics, ...reading } = read(plant(dialect));
    expect(diagnostics).toEqual([]);
    expect(reading).toMatchObject({ dialect, skill: { name: 'word-count', description: DEFAULT_DESCRIPTION } });
  });

  test.each(['Has: a colon, a "quote" and # more', 'yes', "- it's [x]", '{{braces}}', 'two\nlines'])(
    'X-03 keeps the description %j',
    description => {
      const { diagnostics, skill } = read(plant(dialect, 'a', description));
      expect([skill?.description, diagnostics]).toEqual([description, []]);
    },
  );
});

describe('names and descriptions', () => {
  const refuse = (name: string, description = 'x', dialect: DialectName = 'seksbot') => {
    try {
      initFiles({ name, dialect, description });
    } catch (error) {
      if (error instanceof SkillboxError) return [error.code, error.hint];
      throw error;
    }
    return null;
  };

  test.each([
    ['Word Count', 'try word-count'],
    ['wordCount', 'try word-count'],
    ['-x--y-', 'try x-y'],
    ['Größe_2', 'try gro-e-2'],
    ['../x', 'try x'],
    ['x'.repeat(65), `try ${'x'.repeat(64)}`],
  ])('AS-02 %j is refused with a name that would do', (name, hint) => {
    expect(refuse(name)).toEqual(['USAGE', expect.stringContaining(hint)]);
  });

  test('AS-02 a name of which nothing is left gets no suggestion', () => {
    expect(refuse('!')).toEqual(['USAGE', expect.not.stringContaining('try')]);
  });

  test('SK-02 GB-02 a description is held to the limit of its dialect', () => {
    expect(refuse('a', 'x'.repeat(200))).toBeNull();
    expect(refuse('a', 'x'.repeat(201))).toEqual(['USAGE', expect.any(String)]);
    expect(refuse('a', 'x'.repeat(257), 'gibberish')).toEqual(['USAGE', expect.any(String)]);
    expect(refuse('a', 'x'.repeat(257), 'workspace')).toBeNull();
    expect(refuse('a', '  ')).toEqual(['USAGE', expect.any(String)]);
  });
});

describe('its programs run', () => {
  const text = 'one two  three\n';

  test('SB-06 SB-08 SB-09 skillbox: input in, output.json and a file out', () => {
    const path = plant('skillbox');
    const out = join(path, 'out');
    const env = {
      ...process.env,
      SANDBOX_INPUT: JSON.stringify({ text }),
      SANDBOX_OUTPUT: join(out, 'output.json'),
      SANDBOX_FILES_DIR: join(out, 'files/'),
    };
    expect(run('python3', [join(path, 'scripts/main.py')], { env })).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(readFileSync(join(out, 'output.json'), 'utf8'))).toEqual({ words: 3, characters: 15 });
    expect(readFileSync(join(out, 'files/report.md'), 'utf8')).toBe('The text has 3 words and 15 characters.\n');
    expect(
      run('python3', [join(path, 'scripts/main.py')], { env: { ...env, SANDBOX_INPUT: '{"text":1}' } }).status,
    ).toBe(1);
  });

  test('SK-14 seksbot: the task in, an answer out, signed only with the secret', () => {
    const path = plant('seksbot');
    writeFiles(join(path, '..'), { 'package.json': '{"type":"module"}' });
    const output = join(path, 'output.json');
    const env = { ...process.env, SEKS_SKILL_TASK: text, SANDBOX_OUTPUT: output };
    const answer = { words: 3, characters: 15, signed: null };
    expect(JSON.parse(run(process.execPath, [join(path, 'index.js')], { env }).stdout)).toEqual(answer);
    expect(JSON.parse(readFileSync(output, 'utf8'))).toEqual(answer);
    writeFiles(path, { 'bin/seksh*': '#!/bin/sh\n[ "$1 $2" = "get custom/word-count-signature" ] && echo secret\n' });
    const PATH = `${join(path, 'bin')}:${process.env.PATH}`;
    const signed = JSON.parse(run(process.execPath, [join(path, 'index.js')], { env: { ...env, PATH } }).stdout);
    expect(signed.signed).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each(['agent-skills', 'workspace'] as const)(
    'WS-02 %s: a script that takes a file or standard input',
    dialect => {
      const path = plant(dialect);
      const script = join(path, 'scripts/count.py');
      expect(JSON.parse(run('python3', [script], { input: text }).stdout)).toEqual({ words: 3, characters: 15 });
      writeFiles(path, { 'text.txt': text });
      expect(JSON.parse(run('python3', [script, 'text.txt'], { cwd: path }).stdout)).toEqual({
        words: 3,
        characters: 15,
      });
      expect(run('python3', [script, 'none.txt'], { cwd: path })).toMatchObject({ status: 1, stdout: '' });
    },
  );

  test('GB-06 gibberish: both tools, as their commands are put together', () => {
    const path = plant('gibberish');
    const { skill } = read(path);
    if (skill === null) throw new Error('the skill does not load');
    writeFiles(path, { '-texts/a.md': 'one two', '-texts/b.txt': 'one two three' });
    const invoke = (name: string, args: Record<string, string>) => {
      const target = { kind: 'tool', name, arguments: args } as const;
      const call: Call = { target, input: null, stdin: null, mode: 'Dev', callerEnv: {} };
      const [program = '', ...rest] = invokeSkill(skill, call).argv;
      return run(program.replace(/^\/skill/, path), rest, { cwd: path });
    };
    expect(invoke('count_words', { file: './-texts/b.txt' }).stdout).toMatch(/^\s*3 /);
    expect(invoke('longest_files', { folder: '-texts' }).stdout.match(/\S+$/gm)).toEqual(['./b.txt', './a.md']);
    expect(invoke('longest_files', {}).stdout).toMatch(/SKILL\.md/);
    expect(invoke('longest_files', { folder: 'none' })).toMatchObject({ status: 1, stderr: 'none is not a folder\n' });
  });
});
