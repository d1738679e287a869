import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { skillPath, skillText } from '../support/git.ts';
import { KEY, serveMcp } from '../support/mcp.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

/** Skills that one Skillbox offers, installed by another. */
const base = realpathSync(tempDirectory());
const closing: (() => Promise<void>)[] = [];
let count = 0;

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function ground() {
  const at = join(base, String(++count));
  const skills = writeFiles(join(at, 'skills'), {
    'greeter/SKILL.md': skillText('greeter', { body: 'Greets.' }),
    'greeter/scripts/go.sh*': '#!/bin/sh\necho hello\n',
    'greeter/references/Q&A ü.md': 'Questions.\n',
    'counter/SKILL.md': skillText('counter'),
  });
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  const home = join(at, 'home');
  mkdirSync(home);
  const env: Record<string, string> = { HOME: home, SKILLBOX_DATA_DIR: join(at, 'data'), PATH: process.env.PATH ?? '' };
  return { at, skills, project, home, env };
}

describe('our own server', () => {
  test('over HTTP: list, add, lock, restore, outdated, update', async () => {
    const { at, skills, project, env } = ground();
    mkdirSync(join(at, 'serving'));
    const served = await serveMcp({ dataDirectory: join(at, 'served'), home: join(at, 'serving'), dirs: [skills] });
    closing.push(() => served.close());
    const cli = (...words: string[]) => run([...words, '--json'], { cwd: project, env });
    expect(JSON.parse((await cli('add', `mcp+${served.url}`, '--list')).out)).toMatchObject({ error: 'SOURCE_FAILED' });
    env.SKILLBOX_MCP_KEYS = `${new URL(served.url).host}=${KEY}`;
    const listed = JSON.parse((await cli('add', `mcp+${served.url}`, '--list')).out);
    expect(listed.skills.map(({ name }: { name: string }) => name).sort()).toEqual(['counter', 'greeter']);
    expect((await cli('add', `mcp+${served.url}`, '--all', '--yes')).code).toBe(0);
    const script = join(skillPath(project, 'greeter'), 'scripts/go.sh');
    expect(readFileSync(script, 'utf8')).toContain('echo hello');
    expect(lstatSync(script).mode & 0o111).toBe(0);
    expect(existsSync(join(skillPath(project, 'greeter'), 'references/Q&A ü.md'))).toBe(true);
    rmSync(join(project, '.skillbox'), { recursive: true });
    expect((await cli('install', '--frozen')).code).toBe(0);
    expect((await cli('verify')).code).toBe(0);
    writeFiles(skills, { 'counter/SKILL.md': skillText('counter', { body: 'Count backwards.' }) });
    expect(JSON.parse((await cli('outdated')).out).outdated).toMatchObject([{ name: 'counter' }]);
    const updated = JSON.parse((await cli('update', '--yes')).out);
    expect(updated.skills).toMatchObject([
      { name: 'counter', change: 'changed', diff: { files: [{ path: 'SKILL.md' }] } },
    ]);
    expect((await cli('outdated')).code).toBe(0);
    expect(readFileSync(join(project, 'skills.lock'), 'utf8')).not.toContain(KEY);
  });

  test('as a program: a person is asked each time it would start, and nobody else can say yes', async () => {
    const { skills, project, env } = ground();
    const program = join(import.meta.dirname, '../../src/cli/skillbox.ts');
    const source = `mcp+stdio:${process.execPath} ${program} mcp --dir ${skills}`;
    const words = ['add', source, '--skill', 'greeter'];
    const typed = (answers: string[], ...more: string[]) => run([...words, ...more], { cwd: project, env, answers });
    const unasked = await run([...words, '--yes', '--json'], { cwd: project, env });
    expect(JSON.parse(unasked.out)).toMatchObject({
      error: 'SOURCE_REFUSED',
      message: expect.stringContaining('is a program'),
    });
    const agent = await run([...words, '--yes'], {
      cwd: project,
      env: { ...env, CLAUDECODE: '1' },
      answers: ['y', 'y'],
    });
    expect(agent.err).toContain('nobody is at a terminal');
    const no = await typed(['n'], '--yes');
    expect(no.err).toContain('outside every sandbox');
    expect(no).toMatchObject({ code: 1, err: expect.stringContaining('was not started') });
    expect(existsSync(join(project, 'skills.lock'))).toBe(false);

    const added = await typed(['y', 'y']);
    expect(added.err).toContain('Write this?');
    expect(added.code).toBe(0);
    const { skills: locked } = JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8'));
    expect(locked.greeter.source).toMatchObject({ kind: 'mcp', server: source, uri: 'skill://greeter/SKILL.md' });

    // A lock that came with a repository starts nothing by itself.
    rmSync(join(project, '.skillbox'), { recursive: true });
    expect((await run(['install', '--frozen'], { cwd: project, env })).err).toContain('is a program');
    expect(existsSync(skillPath(project, 'greeter'))).toBe(false);
    expect((await run(['install', '--frozen'], { cwd: project, env, answers: ['y'] })).code).toBe(0);
    expect((await run(['verify'], { cwd: project, env })).code).toBe(0);
    expect((await run(['outdated'], { cwd: project, env, answers: ['y'] })).code).toBe(0);
    // What is on disk is looked at without it.
    expect((await run(['list'], { cwd: project, env })).out).toContain('mcp+stdio:');
  });

  test('a program that ends at once is told of with its last words', async () => {
    const { project, env } = ground();
    const script = join(project, 'broken.mjs');
    writeFiles(project, { 'broken.mjs': "console.error('no such setting'); process.exit(3);\n" });
    const ran = await run(['add', `mcp+stdio:${process.execPath} ${script}`], { cwd: project, env, answers: ['y'] });
    expect(ran.err).toContain('no such setting');
    const missing = await run(['add', 'mcp+stdio:/no/such/program'], { cwd: project, env, answers: ['y'] });
    expect(missing.code).toBe(1);
    expect(missing.err).toContain('could not connect');
  });
});
