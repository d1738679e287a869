import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { skillText } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();
let count = 0;

function ground() {
  const at = join(base, String(++count));
  const [home, project] = [join(at, 'home'), join(at, 'project')];
  mkdirSync(home, { recursive: true });
  mkdirSync(join(project, '.git'), { recursive: true });
  const env = { HOME: home, SKILLBOX_DATA_DIR: join(at, 'data') };
  return { at, home, project, env, cli: (...words: string[]) => run(words, { cwd: project, env }) };
}

test('every agent is wired for the user, with a backup, and unwired again', async () => {
  const { home, cli } = ground();
  const files = {
    '.claude.json': '{\n  "numStartups": 3\n}\n',
    '.codex/config.toml': 'model = "x" # mine\n',
    '.gemini/settings.json': '{ // mine\n}\n',
    '.cursor/mcp.json': '{"mcpServers": {"a": {"command": "b"}}}',
    '.config/Code/User/mcp.json': '{}',
    '.config/opencode/opencode.jsonc': '{\n  // mine\n  "theme": "x",\n}\n',
    '.config/goose/config.yaml': '# mine\nextensions:\n  a:\n    enabled: true\n',
  };
  writeFiles(home, files);
  const paths = Object.keys(files) as (keyof typeof files)[];
  const read = (path: string) => readFileSync(join(home, path), 'utf8');

  const dry = await cli('agents', 'install', '--global', '--dry-run');
  expect(dry.err).toContain('+    "skillbox": {');
  expect(dry.err).toContain('+[mcp_servers.skillbox]');
  for (const path of paths) expect(read(path)).toBe(files[path]);

  expect((await cli('agents', 'install', '--global', '--yes')).code).toBe(0);
  for (const path of paths) {
    expect(read(path)).toContain('skillbox');
    expect(read(`${path}.skillbox-backup`)).toBe(files[path]);
    for (const own of files[path].match(/mine|"a"|numStartups|enabled/g) ?? []) expect(read(path)).toContain(own);
  }
  const wired = paths.map(read);
  const again = await cli('agents', 'install', '--global', '--yes');
  expect(again.err).toContain('Everything is in place already.');
  expect(paths.map(read)).toEqual(wired);
  const { agents } = JSON.parse((await cli('agents', 'list', '--global', '--json')).out);
  expect(agents.map(({ found, wired: is }: { found: boolean; wired: boolean }) => [found, is])).toEqual(
    Array.from({ length: 7 }, () => [true, true]),
  );

  expect((await cli('agents', 'remove', '--global', '--yes')).code).toBe(0);
  for (const path of paths) expect(read(path)).not.toContain('"skillbox"');
  const same = paths.filter(path => read(path) === files[path]);
  // The one that is written in a single line has a line break more.
  expect(paths.filter(path => !same.includes(path))).toEqual(['.cursor/mcp.json']);
  expect(JSON.parse(read('.cursor/mcp.json'))).toEqual(JSON.parse(files['.cursor/mcp.json']));
});

test('a file that was made for the entry alone goes with it; one that somebody changed since stays', async () => {
  const { project, cli } = ground();
  const agents = ['claude-code', 'codex', 'gemini-cli', 'cursor', 'vscode', 'opencode'].flatMap(id => ['--agent', id]);
  const paths = ['.mcp.json', '.codex/config.toml', '.gemini/settings.json', '.cursor/mcp.json', '.vscode/mcp.json'];
  const there = () => [...paths, 'opencode.json'].filter(path => existsSync(join(project, path)));
  expect((await cli('agents', 'install', ...agents, '--yes')).code).toBe(0);
  expect(there()).toHaveLength(6);
  writeFileSync(
    join(project, '.codex/config.toml'),
    `model = "x"\n${readFileSync(join(project, '.codex/config.toml'), 'utf8')}`,
  );
  const removed = await cli('agents', 'remove', ...agents, '--yes');
  expect(removed.err).toContain('remove .mcp.json');
  expect(there()).toEqual(['.codex/config.toml']);
  expect(readFileSync(join(project, '.codex/config.toml'), 'utf8')).toBe('model = "x"\n');
});

test('installed skills follow: linked for the new agent, gone with it', async () => {
  const { at, project, cli } = ground();
  const source = writeFiles(join(at, 'word'), { 'SKILL.md': skillText('word') });
  expect((await cli('add', source, '--agent', 'codex', '--yes')).code).toBe(0);
  expect((await cli('agents', 'install', '--agent', 'claude-code', '--agent', 'vscode', '--yes')).code).toBe(0);
  expect(readlinkSync(join(project, '.claude/skills/word'))).toBe('../../.skillbox/skills/word');
  expect(JSON.parse(readFileSync(join(project, '.mcp.json'), 'utf8')).mcpServers.skillbox.args).toEqual([
    'mcp',
    '--workspace',
    '.',
  ]);
  expect(JSON.parse((await cli('list', '--json')).out).skills[0].agents).toEqual(['claude-code', 'codex', 'vscode']);
  expect((await cli('agents', 'remove', '--agent', 'claude-code', '--yes')).code).toBe(0);
  expect(existsSync(join(project, '.claude/skills/word'))).toBe(false);
  // Codex and VS Code look in the same directory.
  expect((await cli('agents', 'remove', '--agent', 'codex', '--yes')).code).toBe(0);
  expect(lstatSync(join(project, '.agents/skills/word')).isDirectory()).toBe(true);
  expect((await cli('verify')).code).toBe(0);
});

test('who is not known to follow links gets a copy, and so do those who look in the same place', async () => {
  const { at, project, cli } = ground();
  const source = writeFiles(join(at, 'word'), { 'SKILL.md': skillText('word') });
  expect((await cli('add', source, '--agent', 'codex', '--agent', 'claude-code', '--yes')).code).toBe(0);
  const isLink = (path: string) => lstatSync(join(project, path, 'word')).isSymbolicLink();
  expect([isLink('.agents/skills'), isLink('.claude/skills')]).toEqual([true, true]);
  expect((await cli('add', source, '--agent', 'cursor', '--yes')).code).toBe(0);
  expect([isLink('.agents/skills'), isLink('.claude/skills')]).toEqual([false, true]);
  expect(readFileSync(join(project, '.agents/skills/word/SKILL.md'), 'utf8')).toBe(skillText('word'));
  expect((await cli('verify')).code).toBe(0);
  writeFileSync(join(project, '.agents/skills/word/SKILL.md'), 'tampered');
  expect((await cli('verify')).out).toContain('.agents/skills/word/SKILL.md was changed');
  expect((await cli('install', '--frozen')).code).toBe(0);
  expect((await cli('verify')).code).toBe(0);
  expect((await cli('remove', 'word', '--yes')).code).toBe(0);
  expect(existsSync(join(project, '.agents/skills/word'))).toBe(false);
});

test('a program that agents would not find is told of', async () => {
  const { project, env, at } = ground();
  const words = ['agents', 'install', '--agent', 'codex', '--dry-run'];
  const path = (PATH: string) => run(words, { cwd: project, env: { ...env, PATH } });
  expect((await path('/nowhere')).err).toContain('no skillbox on your PATH');
  writeFiles(join(at, 'bin'), { 'skillbox*': '#!/bin/sh\n' });
  expect((await path(`/nowhere:${join(at, 'bin')}`)).err).not.toContain('on your PATH');
});

test('OpenCode: the file that is there is the one that is edited', async () => {
  const { project, cli } = ground();
  writeFiles(project, { '.opencode/opencode.jsonc': '{\n  // mine\n  "mcp": { "servers": {} }\n}\n' });
  expect((await cli('agents', 'install', '--agent', 'opencode', '--yes')).code).toBe(0);
  expect(existsSync(join(project, 'opencode.json'))).toBe(false);
  const text = readFileSync(join(project, '.opencode/opencode.jsonc'), 'utf8');
  expect(text).toContain('"command": [');
  expect(text).not.toContain('enabled');
});

test('a file that cannot be edited safely stops everything, and its mode is kept otherwise', async () => {
  const { home, cli } = ground();
  writeFiles(home, { '.codex/config.toml': 'mcp_servers = {}\n', '.cursor/mcp.json': '{}' });
  const refused = await cli('agents', 'install', '--global', '--yes', '--json');
  expect(JSON.parse(refused.out)).toMatchObject({
    error: 'CONFIG_UNEDITABLE',
    message: expect.stringContaining('.codex/config.toml'),
  });
  expect(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).toBe('{}');
  expect((await cli('agents', 'install', '--global', '--agent', 'cursor', '--yes')).code).toBe(0);
  writeFileSync(join(home, '.claude.json'), '{}', { mode: 0o640 });
  const mode = statSync(join(home, '.claude.json')).mode;
  expect((await cli('agents', 'install', '--global', '--agent', 'claude-code', '--yes')).code).toBe(0);
  expect(statSync(join(home, '.claude.json')).mode).toBe(mode);
});

test('a configuration that is a link out of the project is not followed; an agent does not wire itself for the user', async () => {
  const { home, project, cli, env } = ground();
  writeFiles(home, { 'outside.json': '{}' });
  mkdirSync(join(project, '.cursor'));
  symlinkSync(join(home, 'outside.json'), join(project, '.cursor/mcp.json'));
  const ran = await cli('agents', 'install', '--agent', 'cursor', '--yes', '--json');
  expect(JSON.parse(ran.out).error).toBe('UNWRITABLE');
  expect(readFileSync(join(home, 'outside.json'), 'utf8')).toBe('{}');
  const agent = await run(['agents', 'install', '--global', '--agent', 'cursor', '--yes', '--json'], {
    cwd: project,
    env: { ...env, CURSOR_AGENT: '1' },
  });
  expect(JSON.parse(agent.out).error).toBe('ANSWER_REFUSED');
});
