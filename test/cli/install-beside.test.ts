import { existsSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Ran, run } from '../fake-io.ts';
import { repository, skillPath, skillText } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

/** A lock comes with a project; whoever has it may have a folder of their own where it wants something. */

const base = tempDirectory();
let count = 0;
const LINK = '.claude/skills/count';
const COPY = '.agents/skills/count';

type Ground = { project: string; cli: (...words: string[]) => Promise<Ran> };

/** Installed as a link for one agent, and as a copy for another. */
async function installed(): Promise<Ground> {
  const at = join(base, String(++count));
  const project = repository(join(at, 'project'), { 'skill/SKILL.md': skillText('count') });
  for (const mark of ['.claude', '.cursor']) mkdirSync(join(at, 'home', mark), { recursive: true });
  const env = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const cli = (...words: string[]) => run(words, { cwd: project, env });
  expect(await cli('add', './skill', '--yes')).toMatchObject({ code: 0 });
  return { project, cli };
}

function putOwn(project: string, place: string): void {
  rmSync(join(project, place), { recursive: true });
  writeFiles(join(project, place), { 'SKILL.md': 'mine' });
}

const ownIn = (project: string, place: string) => readFileSync(join(project, place, 'SKILL.md'), 'utf8');

describe('a folder of the user where the lock wants something', () => {
  test('in the place of a link it stays: nothing is installed, updated or removed over it', async () => {
    const { project, cli } = await installed();
    putOwn(project, LINK);
    for (const words of [['install'], ['add', './skill', '--yes'], ['agents', 'install', '--yes']]) {
      expect(await cli(...words)).toMatchObject({ code: 2, err: expect.stringContaining('not from Skillbox') });
    }
    expect(ownIn(project, LINK)).toBe('mine');
    expect(await cli('remove', 'count', '--yes')).toMatchObject({ code: 0 });
    expect(ownIn(project, LINK)).toBe('mine');
  });

  test('in the place of a copy too, where the skill was never installed', async () => {
    const { project, cli } = await installed();
    rmSync(skillPath(project, 'count'), { recursive: true });
    putOwn(project, COPY);
    expect(await cli('install')).toMatchObject({ err: expect.stringContaining('not from Skillbox') });
    expect(existsSync(skillPath(project, 'count'))).toBe(false);
    expect(await cli('remove', 'count', '--yes')).toMatchObject({ code: 0 });
    expect(ownIn(project, COPY)).toBe('mine');
  });

  test('where the agent is left out it stays as well', async () => {
    const { project, cli } = await installed();
    putOwn(project, LINK);
    expect(await cli('agents', 'remove', '--agent', 'claude-code', '--yes')).toMatchObject({ code: 0 });
    expect(ownIn(project, LINK)).toBe('mine');
  });
});

describe('what Skillbox put there', () => {
  test('an edited copy is restored, and its loss is told', async () => {
    const { project, cli } = await installed();
    writeFiles(join(project, COPY), { 'notes.md': 'edited' });
    const { code, err } = await cli('install');
    expect(code).toBe(0);
    expect(err).toContain('they will be lost');
    expect(existsSync(join(project, COPY, 'notes.md'))).toBe(false);
  });

  test('a link that leads elsewhere by now is restored', async () => {
    const { project, cli } = await installed();
    renameSync(join(project, LINK), join(project, 'aside'));
    symlinkSync('/nowhere', join(project, LINK));
    expect(await cli('install')).toMatchObject({ code: 0 });
    expect(readlinkSync(join(project, LINK))).toBe('../../.skillbox/skills/count');
  });
});
