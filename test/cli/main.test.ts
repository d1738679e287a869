import { expect, test } from 'vitest';
import { groupCommands } from '../../src/cli/command-groups.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { run } from '../fake-io.ts';

test('without a command it shows what there is, as a usage error', async () => {
  const { code, out } = await run([]);
  expect(code).toBe(2);
  expect(out).toContain('skill lint');
});

test('--help, help and --version succeed', async () => {
  expect((await run(['--help'])).code).toBe(0);
  expect((await run(['help', 'skill', 'lint'])).out).toContain('usage: skillbox skill lint PATH…');
  expect(await run(['--version'])).toEqual({ code: 0, out: '9.9.9\n', err: '' });
});

test('a group alone lists its commands', async () => {
  const { code, out } = await run(['skill']);
  expect(code).toBe(2);
  expect(out).toContain('skill package');
  expect((await run(['skill', '--help'])).code).toBe(0);
});

test.each([
  [['skil', 'lint'], 'skillbox skill'],
  [['skill', 'lnit'], 'skillbox skill lint'],
  [['lint'], 'skillbox skill lint'],
  // Near in letters is `install`, which is the opposite.
  [['uninstall', 'word-count'], 'skillbox remove"'],
])('%j: the nearest command is named', async (words, meant) => {
  const { code, err } = await run(words);
  expect(code).toBe(2);
  expect(err).toContain(`did you mean "${meant}`);
});

test.each(['constructor', '__proto__', 'toString'])('%s is no command', async word => {
  expect(await run([word])).toMatchObject({ code: 2, err: expect.stringContaining('there is no command') });
});

test('long help is broken into lines', async () => {
  const { out } = await run(['add', '--help']);
  expect(Math.max(...out.split('\n').map(line => line.length))).toBeLessThanOrEqual(120);
});

test.each([
  [['skill', 'lint'], 'PATH is missing'],
  [['skill', 'lint', '.', '--jsn'], 'did you mean --json?'],
  [['skill', 'lint', '.', '--target', 'claud'], 'did you mean claude?'],
  [['skill', 'package', 'a', 'b'], '"b" is one argument too many'],
])('%j: %s', async (words, message) => {
  const { code, err } = await run(words);
  expect(code).toBe(2);
  expect(err).toContain(message);
  expect(err).toContain('usage: skillbox');
});

test('with --json an error is one document on stdout and nothing else', async () => {
  const { code, out, err } = await run(['skill', 'lint', '/nowhere/at/all', '--json']);
  expect(code).toBe(5);
  expect(err).toBe('');
  expect(JSON.parse(out)).toMatchObject({ error: 'NOT_FOUND', hint: expect.any(String) });
});

test('what an error quotes cannot move the cursor', async () => {
  const { err } = await run(['skill', 'lint', 'x\u001b[2J\u202e']);
  expect(err).not.toMatch(/[\u001b\u202e]/);
});

test('every command is in the overview once, under a title', async () => {
  const { out } = await run(['--help']);
  const told = [...out.matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2,}/gm)].map(match => match[1] ?? '');
  expect(told.sort()).toEqual(Object.keys(COMMANDS).sort());
  expect(groupCommands(Object.keys(COMMANDS)).filter(({ title }) => title === null)).toEqual([]);
  // What was forgotten is shown all the same.
  expect(groupCommands(['run', 'new']).at(-1)).toEqual({ title: null, names: ['new'] });
});
