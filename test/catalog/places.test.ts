import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placesFor } from '../../src/catalog/index.ts';
import { tempDirectory } from '../temp.ts';

function project(git: 'directory' | 'file' | 'none'): { root: string; cwd: string } {
  const root = join(tempDirectory(), 'project');
  const cwd = join(root, 'packages/one');
  mkdirSync(cwd, { recursive: true });
  if (git === 'directory') mkdirSync(join(root, '.git'));
  // A worktree has a file there.
  if (git === 'file') writeFileSync(join(root, '.git'), 'gitdir: elsewhere');
  return { root, cwd };
}

const settings = { home: '/home/me', named: [], configured: [], bundled: [] };

test('AS-09/SK-12 places in order: named, configured, project from the working directory up, user, bundled', () => {
  const { root, cwd } = project('directory');
  const places = placesFor({ cwd, home: '/home/me', named: ['mine', '/x'], configured: ['/extra'], bundled: ['/b'] });
  const level = (folder: string) =>
    ['.skillbox/skills', '.agents/skills', '.claude/skills', 'skills'].map(name => `project ${join(folder, name)}`);
  expect(places.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    `named ${join(cwd, 'mine')}`,
    'named /x',
    'configured /extra',
    ...level(cwd),
    ...level(join(root, 'packages')),
    ...level(root),
    'user /home/me/.skillbox/skills',
    'user /home/me/.agents/skills',
    'user /home/me/.claude/skills',
    'user /home/me/.config/gibberish/skills',
    'bundled /b',
  ]);
});

test('AS-09 the root of a git worktree ends the way up as well', () => {
  const { root, cwd } = project('file');
  const paths = placesFor({ ...settings, cwd }).map(({ path }) => path);
  expect(paths).toContain(join(root, 'skills'));
  expect(paths).not.toContain(join(root, '../skills'));
});

test('AS-09 without a repository only the working directory is the project', () => {
  const { cwd } = project('none');
  const project4 = placesFor({ ...settings, cwd }).filter(({ kind }) => kind === 'project');
  expect(project4.map(({ path }) => path)).toEqual(
    ['.skillbox/skills', '.agents/skills', '.claude/skills', 'skills'].map(name => join(cwd, name)),
  );
});

test('a home directory under git leaves the user\u2019s own directories to the user, and no place comes twice', () => {
  const { root, cwd } = project('directory');
  const places = placesFor({ ...settings, cwd, home: root, named: [join(root, 'skills'), join(root, 'skills')] });
  const kindOf = (path: string) => places.filter(place => place.path === join(root, path)).map(({ kind }) => kind);
  expect(kindOf('.claude/skills')).toEqual(['user']);
  expect(kindOf('skills')).toEqual(['named']);
});
