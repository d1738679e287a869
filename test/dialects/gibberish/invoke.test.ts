import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import type { Call } from '../../../src/dialects/dialect.ts';
import { invokeTool, renderPreview } from '../../../src/dialects/gibberish/invoke.ts';
import { locateProgram } from '../../../src/dialects/gibberish/program.ts';
import { DEPLOY, GIT } from './seed-examples.ts';
import { read, skillOf, toolOf } from './tool.ts';

function callOf(name: string, args: JsonObject = {}, more: Partial<Call> = {}): Call {
  const target = { kind: 'tool', name, arguments: args } as const;
  return { target, input: null, stdin: null, mode: 'Global', callerEnv: {}, ...more };
}

const git = skillOf(read(GIT).tools);

describe('invocation', () => {
  test('GB-06, GB-11, GB-14 one command without a shell, in the workspace, with an envelope', () => {
    expect(invokeTool(git, callOf('git_log', { count: 5 }))).toEqual({
      argv: ['git', 'log', '--oneline', '-n', '5'],
      cwd: '/workspace',
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        LANG: 'C.UTF-8',
        HOME: '/home/skill',
        USER: 'skill',
        GIBBERISH_SKILL_NAME: 'git',
        GIBBERISH_SKILL_DIR: '/skill',
        GIBBERISH_MODE: 'Global',
      },
      stdin: null,
      mounts: [
        { kind: 'skill', at: '/skill' },
        { kind: 'workspace', at: '/workspace', writable: true },
        { kind: 'dependencies', manager: 'npm', at: '/skill/node_modules' },
        { kind: 'tmpfs', at: '/tmp', bytes: 64 * 1024 ** 2 },
        { kind: 'tmpfs', at: '/home/skill', bytes: 1024 ** 2 },
      ],
      timeoutMs: 30_000,
      outputPath: null,
      filesPath: null,
      result: 'envelope',
      warnings: [],
    });
  });

  test('GB-11 the workspace of a read_only tool is not writable', () => {
    const skill = skillOf(git.tools, { needs: { ...git.needs, readOnly: true } });
    expect(invokeTool(skill, callOf('git_status')).mounts).toContainEqual({
      kind: 'workspace',
      at: '/workspace',
      writable: false,
    });
  });

  test('GB-12 of the environment only the language and the terminal come from the caller', () => {
    const callerEnv = {
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      LC_API_KEY: 'k',
      LC_TOKEN: 't',
      TERM: 'xterm',
      PATH: '/evil',
      HOME: '/root',
      USER: 'root',
      LANGUAGE: 'de',
      GITHUB_TOKEN: 'x',
      MY_TOKEN: 'x',
      MY_KEY: 'x',
      MY_SECRET: 'x',
      AWS_REGION: 'x',
      OPENAI_BASE_URL: 'x',
      ANTHROPIC_API_KEY: 'x',
      LD_PRELOAD: 'x',
      NODE_OPTIONS: 'x',
      BASH_ENV: 'x',
      GIBBERISH_SKILL_DIR: '/evil',
      LC_TIME: 'a\0b',
    };
    expect(invokeTool(git, callOf('git_status', {}, { callerEnv, mode: 'Dev' })).env).toEqual({
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      TERM: 'xterm',
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/home/skill',
      USER: 'skill',
      GIBBERISH_SKILL_NAME: 'git',
      GIBBERISH_SKILL_DIR: '/skill',
      GIBBERISH_MODE: 'Dev',
    });
  });

  test("GB-10 the seed's 8.3 runs its script from the skill", () => {
    const skill = skillOf(read(DEPLOY).tools);
    expect(invokeTool(skill, callOf('deploy_preview', { message: 'ship; rm -rf /' })).argv).toEqual([
      '/skill/scripts/deploy.sh',
      'preview',
      'ship; rm -rf /',
    ]);
    expect(invokeTool(skill, callOf('deploy_preview')).argv).toEqual(['/skill/scripts/deploy.sh', 'preview']);
  });

  test.each([
    ['git', { kind: 'path', name: 'git' }],
    ['./run.sh', { kind: 'skill', path: 'run.sh' }],
    ['scripts/./a/../run.sh', { kind: 'skill', path: 'scripts/run.sh' }],
    ['node_modules/.bin/eslint', { kind: 'workspace', path: 'node_modules/.bin/eslint' }],
    ['/usr/bin/env', { kind: 'absolute', path: '/usr/bin/env' }],
    ['./..', { kind: 'outside' }],
    ['./', { kind: 'outside' }],
    ['./../x', { kind: 'outside' }],
    ['scripts/../../x', { kind: 'outside' }],
    ['../x', { kind: 'outside' }],
    ['a/../../x', { kind: 'outside' }],
    ['./scripts/', { kind: 'outside' }],
  ])('GB-10 the program %s', (program, expected) => {
    expect(locateProgram(program)).toEqual(expected);
  });

  test('GB-10 a program outside the skill is refused', () => {
    const skill = skillOf([toolOf('./../evil')]);
    expect(() => invokeTool(skill, callOf('try_it'))).toThrow(expect.objectContaining({ code: 'INVALID_SKILL' }));
    expect(invokeTool(skillOf([toolOf('bin/x')]), callOf('try_it')).argv).toEqual(['/workspace/bin/x']);
  });

  test('GB-09 a value that may be read as an option is warned of', () => {
    const skill = skillOf([toolOf('cat {{file}}', ['file | string | yes | F'])]);
    expect(invokeTool(skill, callOf('try_it', { file: '-n' })).warnings).toEqual([
      'the value of "file" begins with "-" and may be read as an option',
    ]);
  });

  test('GB-16 an unknown tool, another kind of call and a bad argument are the call’s fault', () => {
    const invalid = (hint: string) =>
      expect.objectContaining({ code: 'INVALID_CALL', hint: expect.stringContaining(hint) });
    expect(() => invokeTool(git, callOf('git_statu'))).toThrow(invalid('git_status'));
    expect(() => invokeTool(git, callOf('constructor'))).toThrow(invalid('git_status, git_log, git_diff'));
    expect(() => invokeTool(git, { ...callOf(''), target: { kind: 'main' } })).toThrow(invalid('git_status'));
    expect(() => invokeTool(git, callOf('git_log', { count: '5' }))).toThrow(invalid('skill show'));
  });

  test('WS-03 the text for standard input is passed on', () => {
    expect(invokeTool(git, callOf('git_status', {}, { stdin: 'text' })).stdin).toBe('text');
  });
});

describe('GB-18 the preview', () => {
  const rows = [
    's | string | yes | S',
    'o | string | no | O',
    'n | integer | no | N (default: 3)',
    'b | boolean | no | B',
  ];
  const previews = [
    ['git log {{s}}', 'git log <s>'],
    ['git log {{o}} --o={{o}}', 'git log [<o>] [--o=<o>]'],
    ['git log -n {{n}} {{o:x}}', 'git log -n <n> <o>'],
    ['git log {{o:-only}} {{b:--all}} --b={{b}}', 'git log [-only <o>] [--all] [--b=<b>]'],
    [`git commit -m 'a b' "{{s}} c" ''`, `git commit -m 'a b' '<s> c' ''`],
    [`echo "it's" '[x]' \\<s\\>`, `echo 'it'\\''s' '[x]' '<s>'`],
    ['curl "https://h/?q={{s}}&o={{o}}"', 'curl [https://h/?q=<s>&o=<o>]'],
    ['echo "a\nb\u001b[2J" {{o:\u001b]}}', "echo 'a<U+000A>b<U+001B>[2J' <o>"],
    ['echo {{b:-\u202ex}}', 'echo [-<U+202E>x]'],
  ];
  test.each(previews)('of %j', (command, expected) => {
    expect(renderPreview(toolOf(command, rows))).toBe(expected);
  });
});
