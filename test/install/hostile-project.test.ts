import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Ran, run } from '../fake-io.ts';
import { skillText } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

/** Projects that mean harm: what lies in `.skillbox` and in the lock comes with a clone. */

const base = tempDirectory();
let count = 0;

type Ground = { at: string; project: string; own: string; cli: (...words: string[]) => Promise<Ran> };

function ground(): Ground {
  const at = join(base, String(++count));
  const project = join(at, 'project');
  mkdirSync(join(project, '.git/hooks'), { recursive: true });
  mkdirSync(join(project, '.skillbox'));
  const own = writeFiles(join(at, 'own'), { 'folder/letter.txt': 'mine', rc: 'mine' });
  writeFiles(join(at, 'skill'), { 'SKILL.md': skillText('skill') });
  const env = { HOME: writeFiles(join(at, 'home'), { '.keep': '' }), SKILLBOX_DATA_DIR: join(at, 'data') };
  return { at, project, own, cli: (...words) => run(words, { cwd: project, env }) };
}

/** Each of them once took back what was interrupted before it did anything else. */
const COMMANDS = [['add', '../skill', '--dry-run'], ['add', '../skill', '--yes'], ['install', '--yes'], ['verify']];

describe('a project that comes with an interrupted change', () => {
  test.each(COMMANDS)('%s takes none of its steps', async (...words) => {
    const { project, own, cli } = ground();
    const steps = [
      { path: join(own, 'folder'), staged: 'x', had: false },
      { path: join(own, 'rc'), staged: 'x', had: true },
      { path: join(project, '.git/hooks/post-checkout'), staged: 'x', had: true },
    ];
    const aside = join(project, '.skillbox/staging/2f1c6f0e-6a0e-4c1b-9d0a-3f4f7e0b1a11');
    const journal = JSON.stringify({ steps, made: [join(own, 'folder')] });
    writeFiles(aside, { 'old/1': 'theirs', 'old/2': 'theirs', 'journal.json': journal });
    await cli(...words);
    expect(readFileSync(join(own, 'folder/letter.txt'), 'utf8')).toBe('mine');
    expect(readFileSync(join(own, 'rc'), 'utf8')).toBe('mine');
    expect(readdirSync(join(project, '.git/hooks'))).toEqual([]);
  });

  test('is none: it is not told as interrupted, and the work goes on', async () => {
    const { project, cli } = ground();
    writeFiles(join(project, '.skillbox/staging/x'), { 'journal.json': '{' });
    expect(await cli('add', '../skill', '--yes')).toMatchObject({ code: 0 });
    expect(await cli('verify')).toMatchObject({ code: 0, err: '1 skill as skills.lock says.\n' });
  });
});

describe('a list that is no file', () => {
  test.each(['skills.lock', 'skills-lock.json'])('%s is refused, and nobody waits for its end', async name => {
    const { project, cli } = ground();
    const words = name === 'skills.lock' ? ['list'] : ['install', '--import'];
    for (const put of [
      (path: string) => execFileSync('mkfifo', [path]),
      (path: string) => symlinkSync('/dev/zero', path),
      (path: string) => mkdirSync(path),
    ]) {
      put(join(project, name));
      expect(await cli(...words)).toMatchObject({ code: 1, err: expect.stringContaining('it is not a file') });
      rmSync(join(project, name), { recursive: true });
    }
  });
});

describe('a project whose own directories are links', () => {
  test.each(['.skillbox/staging', '.skillbox/skills', '.skillbox'])('%s, leading out', async place => {
    for (const words of COMMANDS) {
      const { project, own, cli } = ground();
      if (place === '.skillbox') rmSync(join(project, '.skillbox'), { recursive: true });
      symlinkSync(`${'../'.repeat(place.split('/').length)}own`, join(project, place));
      const { code } = await cli(...words);
      expect(code).not.toBe(0);
      expect(readdirSync(own, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
        'folder',
        'folder/letter.txt',
        'rc',
      ]);
    }
  });

  test('.skillbox/staging, leading to another folder of the project', async () => {
    const { project, cli } = ground();
    writeFiles(join(project, 'docs'), { 'a.md': 'text' });
    symlinkSync('../docs', join(project, '.skillbox/staging'));
    expect(await cli('add', '../skill', '--yes')).toMatchObject({ err: expect.stringContaining('through a link') });
    expect(readdirSync(join(project, 'docs'))).toEqual(['a.md']);
  });

  test('a file that would be written is made in its place, or not at all', async () => {
    const { at, project, own, cli } = ground();
    symlinkSync(join(own, 'made'), join(project, '.skillbox/.gitignore'));
    symlinkSync(join(own, 'made'), join(project, '.skillbox/install.lock'));
    expect(await cli('add', '../skill', '--yes')).toMatchObject({ code: 0 });
    expect(existsSync(join(own, 'made'))).toBe(false);
    expect(lstatSync(join(at, 'project/.skillbox/skills/skill')).isDirectory()).toBe(true);
  });
});
