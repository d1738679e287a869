import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run as runWords } from '../fake-io.ts';
import { EXAMPLES, NO_SANDBOX, newSkill, PROBES } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

tidy();

const data = join(tempDir('data'), 'data');
const env = { SKILLBOX_DATA_DIR: data, PATH: process.env.PATH ?? '' };
const cwd = tempDir('cwd', 0o755);
const run = (...words: string[]) => runWords(['run', ...words], { cwd, env });

const WORDS = join(EXAMPLES, 'skillbox/word-count');
const TOOLS = join(PROBES, 'tool-probe');
const SCRIPTS = join(PROBES, 'script-probe');

describe('skillbox run: mistakes are told with a hint, and nothing runs', () => {
  test.each<[string, string[], number, RegExp]>([
    ['no skill', [], 2, /SKILL is missing[\s\S]*usage:/],
    ['a path that is not there', ['./gone'], 5, /gone/],
    ['a folder that is no skill', ['.'], 3, /SKILL\.md/],
    ['an option that is not there', [WORDS, '--parm', 'a=b'], 2, /--parm; did you mean --param/],
    ['a time that is none', [WORDS, '--timeout', 'soon'], 2, /"soon" is no duration[\s\S]*30s/],
    ['no time at all', [WORDS, '--timeout', '0'], 2, /no duration/],
    ['a sandbox that is not there', [WORDS, '--sandbox', 'chroot'], 2, /bubblewrap, docker, process/],
    ['arguments for an entrypoint', [WORDS, '--', 'x'], 2, /--input/],
    ['parameters for an entrypoint', [WORDS, '--param', 'a=b'], 2, /no --param/],
    ['a workspace for an entrypoint', [WORDS, '--workspace', '.'], 2, /no --workspace/],
    ['no tool named', [TOOLS], 2, /name the tool[\s\S]*report, print_much/],
    ['a tool that is not there', [TOOLS, 'reprot'], 2, /no tool "reprot"/],
    ['arguments for a tool', [TOOLS, 'report', '--', 'x'], 2, /--param NAME=VALUE/],
    ['a parameter that is not there', [TOOLS, 'report', '--param', 'word=x'], 2, /word/],
    ['an input that is no object', [TOOLS, 'report', '--input', '[1]'], 2, /JSON object/],
    ['no script named', [SCRIPTS], 2, /name the script[\s\S]*probe\.py/],
    ['a script that is not there', [SCRIPTS, 'prob.py'], 2, /no script "prob\.py"/],
    ['a script outside the skill', [SCRIPTS, '../../../etc/passwd'], 2, /no script/],
    ['an input for a script', [SCRIPTS, 'probe.py', '--input', '{}'], 2, /after --/],
    ['a workspace that is not there', [SCRIPTS, 'probe.py', '--workspace', 'gone'], 5, /no workspace/],
    [
      'a workspace from a variable that is not set',
      [SCRIPTS, 'probe.py', '--workspace', ''],
      2,
      /--workspace is empty/,
    ],
    ['a download to nowhere', [WORDS, '--download='], 2, /--download is empty/],
    ['a skill without a name', [''], 2, /SKILL is empty; is a variable not set\?[\s\S]*usage:/],
    ['an empty value among others', [WORDS, '--env', 'A=b', '--env', ''], 2, /--env is empty/],
    ['the root as a workspace', [SCRIPTS, 'probe.py', '--workspace', '/'], 2, /home directory/],
    ['a file to download into', [WORDS, '--download', join(EXAMPLES, 'skillbox/word-count/SKILL.md')], 2, /is a file/],
    ['an option without its value', [WORDS, '--input'], 2, /--input needs a value: JSON\n {2}usage:/],
    ['a value that looks like an option', [WORDS, '--timeout', '-1'], 2, /--timeout needs a value.*--timeout=-…/],
    ['a value for a flag', [WORDS, '--json=yes'], 2, /--json takes no value/],
    ['no isolation, asked for once', [WORDS, '--sandbox', 'process'], 6, /process/],
  ])('%s', async (_name, words, code, message) => {
    const { code: seen, out, err } = await run(...words);
    expect(err).toMatch(message);
    expect({ code: seen, out }).toEqual({ code, out: '' });
    expect(existsSync(join(data, 'logs'))).toBe(false);
  });

  test.each([
    ['["OpenAI/models.list", custom/free]', '"OpenAI/models.list"'],
    ['[openai]', '"openai"'],
    ['["custom/*"]', '"custom/*"'],
    ['[custom/free, 5]', '"5"'],
    ['[{ a: b }]', 'a'],
    ['openai/models.list', '"openai/models.list"'],
    ['{ openai: models.list }', 'models.list'],
  ])('SK-05 capabilities of which one cannot be read: %s', async (capabilities, named) => {
    const skill = writeFiles(tempDir('skill', 0o755), {
      'skill.yaml': `name: doubtful\ndescription: made for a test\ncapabilities: ${capabilities}\n`,
      'SKILL.md': '# Doubtful\n',
      'main.sh*': '#!/usr/bin/env bash\necho it ran\n',
    });
    for (const more of [[], ['--dry-run'], ['--', 'echo', 'it ran']]) {
      const { code, out, err } = await run(skill, '--yes', ...more);
      expect({ code, out }).toEqual({ code: 4, out: '' });
      expect(err).toContain('is no capability');
      expect(err).toContain(named);
      expect(err).toContain('skillbox skill lint');
    }
    // It is shown and linted as before.
    expect((await runWords(['skill', 'show', skill], { cwd, env })).code).toBe(0);
    expect((await runWords(['skill', 'lint', skill], { cwd, env })).out).toContain('capabilit');
  });

  test('an input that is not UTF-8, from a file or standard input; a byte order mark does not matter', async () => {
    const wrong = Buffer.from('{"text":"caf\u00e9"}', 'latin1');
    const file = join(tempDir('input'), 'input.json');
    writeFileSync(file, wrong);
    expect(await run(WORDS, '--dry-run', '--input', `@${file}`)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/input\.json is not UTF-8\n.*iconv/),
    });
    const piped = (stdin: Buffer) => runWords(['run', WORDS, '--dry-run', '--input', '-'], { cwd, env, stdin });
    expect(await piped(wrong)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('standard input is not UTF-8'),
    });
    const marked = Buffer.from('\ufeff{"text":"caf\u00e9"}');
    writeFileSync(file, marked);
    if (NO_SANDBOX) return;
    expect((await run(WORDS, '--dry-run', '--input', `@${file}`)).code).toBe(0);
    expect((await piped(marked)).code).toBe(0);
  });

  test('with --json the mistake is one document', async () => {
    const { code, out, err } = await run(WORDS, '--json', '--timeout', 'x');
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(JSON.parse(out)).toMatchObject({ error: 'USAGE', message: expect.any(String), hint: expect.any(String) });
  });

  test('a data directory that is no place is told', async () => {
    const relative = await runWords(['run', WORDS], { cwd, env: { SKILLBOX_DATA_DIR: 'here' } });
    expect(relative).toMatchObject({ code: 2, err: expect.stringContaining('absolute') });
    const file = writeFiles(tempDir('file'), { x: '' });
    const wrong = await runWords(['run', WORDS], { cwd, env: { SKILLBOX_DATA_DIR: join(file, 'x') } });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('something else stands there') });
    expect(wrong.err).toContain('SKILLBOX_DATA_DIR');
  });

  test('a damaged database is called that', async () => {
    const broken = writeFiles(join(tempDirectory(), 'data'), {
      'skillbox.db': 'this is no database at all, '.repeat(99),
    });
    const { code, err } = await runWords(['secret', 'list'], { cwd, env: { SKILLBOX_DATA_DIR: broken } });
    expect([code, err]).toEqual([1, expect.stringMatching(/not a database[\s\S]*damaged[\s\S]*backup/)]);
  });

  test('a data directory that no file system would make ends with a sentence, not never', async () => {
    const { code, err } = await runWords(['run', WORDS], { cwd, env: { SKILLBOX_DATA_DIR: '/proc/nope/data' } });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/\/proc\/nope, which cannot be made[\s\S]*SKILLBOX_DATA_DIR/),
    ]);
  });
});

describe.skipIf(NO_SANDBOX)('skillbox run --dry-run', () => {
  const marks = tempDir('marks', 0o777);

  test('--json shows what would run, and runs nothing', async () => {
    const words = [
      SCRIPTS,
      'probe.ts',
      '--workspace',
      marks,
      '--env',
      'A=secret value',
      '--dry-run',
      '--json',
      '--',
      'x y',
    ];
    const { code, out } = await run(...words);
    const plan = JSON.parse(out);
    expect(code).toBe(0);
    expect(plan).toMatchObject({
      argv: ['node', '/skillbox/compiled/scripts/probe.mjs', 'x y'],
      cwd: '/workspace',
      env: ['A', 'HOME', 'LANG', 'PATH', 'SKILL_DIR', 'SKILL_NAME', 'WORKSPACE_DIR'],
      limits: { timeMs: 120_000, memoryBytes: expect.any(Number) },
      network: 'none',
      decision: { verdict: 'ask', trust: 'untrusted', banner: true, rule: { source: 'default', name: 'untrusted' } },
    });
    expect(plan.mounts).toContainEqual({ at: '/workspace', kind: 'bind', source: marks, writable: true });
    expect(out).not.toContain('secret value');
    expect(existsSync(join(data, 'logs'))).toBe(false);
    expect((await runWords(['exec', 'list', '--json'], { cwd, env })).out).toBe('{\n  "runs": []\n}\n');
  });

  test('for a person it is a short text', async () => {
    const skill = newSkill('bash', 'touch "$SANDBOX_FILES_DIR/ran"\n', 'timeout: 7s\n');
    const { code, out } = await run(skill, '--dry-run');
    expect(code).toBe(0);
    expect(out).toMatch(/^would run: "bash" "\/sandbox\/scripts\/main\.sh"\nin: \/sandbox\/out\n/);
    expect(out).toMatch(/timeMs 7000/);
    expect(readdirSync(data)).not.toContain('logs');
    expect(out).toContain('decision: ask (Nobody vouches');
    expect((await runWords(['run', skill, '--dry-run'], { cwd, env, own: true })).out).toContain('decision: allow (');
  });
});
