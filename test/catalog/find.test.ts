import { mkdirSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { findSkills } from '../../src/catalog/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

function found(root: string): string[] {
  return findSkills(root).map(path => relative(root, path));
}

test('AS-09 skills, manifests and archives are found in the order of their paths; what is no skill is not', () => {
  const root = writeFiles(tempDirectory(), {
    'b/SKILL.md': '',
    'a/skill.md': '',
    'c/deep/er/skill.yaml': '',
    'd/readme.md': '',
    'e.zip': '',
    'f.skill': '',
    'node_modules/x/SKILL.md': '',
    '.git/x/SKILL.md': '',
    '.agents/skills/g/SKILL.md': '',
  });
  expect(found(root)).toEqual(['.agents/skills/g', 'a', 'b', 'c/deep/er', 'e.zip', 'f.skill']);
});

test('AS-09 a skill is not searched for further skills, and is itself the answer when it is asked about', () => {
  const root = writeFiles(tempDirectory(), { 'a/SKILL.md': '', 'a/inner/SKILL.md': '' });
  expect(found(root)).toEqual(['a']);
  expect(found(join(root, 'a'))).toEqual(['']);
});

test('X-08 a linked skill folder is followed, what lies below a linked directory is not, and a loop ends', () => {
  const root = writeFiles(tempDirectory(), { 'store/a/SKILL.md': '', 'skills/.keep': '' });
  symlinkSync('../store/a', join(root, 'skills/linked'));
  symlinkSync('../store', join(root, 'skills/all'));
  symlinkSync('..', join(root, 'skills/loop'));
  expect(found(join(root, 'skills'))).toEqual(['linked']);
});

test('X-08 a link in a circle, or to a name that no file can have, ends no search', () => {
  const root = writeFiles(tempDirectory(), { 'a/SKILL.md': '', 'c/readme.md': '', 'd/SKILL.md': '' });
  symlinkSync('self', join(root, 'self'));
  symlinkSync('x'.repeat(300), join(root, 'long'));
  symlinkSync('SKILL.md', join(root, 'c/SKILL.md'));
  expect(found(root)).toEqual(['a', 'c', 'd']);
});

test('a SKILL.md that is a directory makes no skill', () => {
  const root = tempDirectory();
  mkdirSync(join(root, 'a/SKILL.md'), { recursive: true });
  expect(found(root)).toEqual([]);
});

test('AS-09 the search is bounded in depth', () => {
  const root = writeFiles(tempDirectory(), { [`${'d/'.repeat(20)}SKILL.md`]: '' });
  expect(found(root)).toEqual([]);
});
