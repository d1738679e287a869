import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasErrors, openDirectory } from '../../src/skill/index.ts';
import { MAX_DEPTH } from '../../src/skill/names.ts';
import { codes, collect, paths, plant, refusal, scratch, type Tree } from './scratch.ts';

const open = (tree: Tree) => openDirectory(plant(`${scratch()}/demo`, tree));

describe('X-08 the folder', () => {
  test('lists its regular files by the bytes of their paths, with size and executable bit', () => {
    const folder = open({
      'b/x': '12',
      a: '1',
      'b-x': '',
      'SKILL.md': 'hi',
      '\u{10000}': '',
      '\uff5e': '',
      'run.sh': { content: '#', executable: true },
    });
    expect(folder.files).toEqual([
      { path: 'SKILL.md', size: 2, executable: false },
      { path: 'a', size: 1, executable: false },
      { path: 'b-x', size: 0, executable: false },
      { path: 'b/x', size: 2, executable: false },
      { path: 'run.sh', size: 1, executable: true },
      // U+FF5E before U+10000, as in UTF-8; JavaScript's own order is the other one.
      { path: '\uff5e', size: 0, executable: false },
      { path: '\u{10000}', size: 0, executable: false },
    ]);
    expect(folder.problems).toEqual([]);
    expect(folder.name).toBe('demo');
    expect(folder.file('a')).toEqual({ path: 'a', size: 1, executable: false });
    expect(folder.file('__proto__')).toBeNull();
  });

  test('may itself be a link: it is followed, its real path is recorded, its name is the link’s', () => {
    const real = plant(`${scratch()}/real`, { 'SKILL.md': 'x' });
    const link = `${scratch()}/alias`;
    symlinkSync(real, link);
    const folder = openDirectory(link);
    expect([folder.name, folder.origin, folder.read('SKILL.md', 10).toString()]).toEqual([
      'alias',
      { kind: 'directory', path: real },
      'x',
    ]);
    expect(openDirectory(`${link}/`).name).toBe('alias');
    expect(openDirectory(`${link}/../alias/.`).name).toBe('alias');
  });

  test('that is missing or no folder is refused', async () => {
    const root = plant(scratch(), { file: '' });
    symlinkSync('loop', join(root, 'loop'));
    expect((await refusal(() => openDirectory(join(root, 'none')), 'NOT_FOUND')).message).toContain(join(root, 'none'));
    await refusal(() => openDirectory(join(root, 'loop')), 'NOT_FOUND');
    await refusal(() => openDirectory(join(root, 'file')), 'NOT_A_SKILL');
    await refusal(() => openDirectory(join(root, 'file/below')), 'NOT_A_SKILL');
  });

  test('gives files whole and in pieces, and nothing beyond what was asked', async () => {
    const large = Buffer.alloc(300_000, 'abcdefg');
    const folder = open({ small: 'abc', large, empty: '' });
    expect(folder.read('small', 3).toString()).toBe('abc');
    expect(folder.read('large', 300_000).equals(large)).toBe(true);
    expect((await collect(folder.stream('large'))).equals(large)).toBe(true);
    expect((await collect(folder.stream('small'))).toString()).toBe('abc');
    expect((await collect(folder.stream('empty'))).length).toBe(0);
    expect((await refusal(() => folder.read('small', 2), 'INVALID_SKILL')).message).toContain('small');
    for (const path of ['none', '../demo/small', './small', '/etc/passwd', 'a\nb']) {
      const error = await refusal(() => folder.read(path, 100), 'NOT_FOUND');
      expect(error.message).not.toContain('\n');
      await refusal(() => collect(folder.stream(path)), 'NOT_FOUND');
    }
    folder.close();
    await refusal(() => folder.read('small', 3), 'INTERNAL');
  });

  test('leaves out what .skillboxignore names and nobody needs, and says which secrets it left out', () => {
    const folder = open({
      '.skillboxignore': 'drafts/\n*.log\n!important.log\n!node_modules/\nprivate.env\nquiet/.env\n',
      'SKILL.md': '',
      'drafts/a.md': '',
      'a.log': '',
      'important.log': '',
      'node_modules/m/index.js': '',
      '.git/HEAD': '',
      '.env': 'KEY=1',
      'sub/.env.local': '',
      'quiet/.env': '',
      '.env.example': '',
    });
    expect(paths(folder)).toEqual([
      '.env.example',
      '.skillboxignore',
      'SKILL.md',
      'important.log',
      'node_modules/m/index.js',
    ]);
    expect(codes(folder)).toEqual(['folder-secret-file .env', 'folder-secret-file sub/.env.local']);
  });

  test('says that an ignore file is too large to be followed, as an error', () => {
    const folder = open({ '.skillboxignore': 'a\n'.repeat(40_000), a: '' });
    expect(codes(folder)).toEqual(['folder-too-large .skillboxignore']);
    expect(hasErrors(folder.problems)).toBe(true);
    expect(codes(open({ '.skillboxignore': 'a\n'.repeat(2_000) }))).toEqual(['folder-too-large .skillboxignore']);
  });

  test('stops at an ignore file that is built to take long', () => {
    const names = Array.from({ length: 300 }, (_, at) => [`${'a'.repeat(240)}${at}`, ''] as const);
    const folder = open({ '.skillboxignore': `*${'?'.repeat(60)}b\n`.repeat(1000), ...Object.fromEntries(names) });
    expect(codes(folder)).toEqual(['folder-too-large .skillboxignore']);
  });
});

describe('X-08 limits', () => {
  const many = (count: number): Tree => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, 'x']));

  test('too many files', () => {
    const root = plant(`${scratch()}/s`, many(6));
    expect(codes(openDirectory(root, { maxFiles: 6 }))).toEqual([]);
    const folder = openDirectory(root, { maxFiles: 5 });
    expect([folder.files.length, codes(folder)]).toEqual([5, ['folder-too-large .']]);
    expect(folder.problems[0]?.severity).toBe('error');
  });

  test('too many bytes, of which a sparse file has many at once', () => {
    const root = plant(`${scratch()}/s`, { a: '12345', b: '12345' });
    expect(codes(openDirectory(root, { maxBytes: 10 }))).toEqual([]);
    expect(codes(openDirectory(root, { maxBytes: 9 }))).toEqual(['folder-too-large .']);
    truncateSync(join(root, 'b'), 2 ** 40);
    expect(codes(openDirectory(root))).toEqual(['folder-too-large .']);
  });

  test('too deep', () => {
    const deep = (levels: number): Tree => ({ [[...Array<string>(levels - 1).fill('d'), 'f'].join('/')]: 'x' });
    expect(codes(open(deep(MAX_DEPTH)))).toEqual([]);
    expect(codes(open(deep(MAX_DEPTH + 1)))).toEqual([`folder-too-large ${Array(MAX_DEPTH).fill('d').join('/')}`]);
    expect(codes(open(deep(300)))).toHaveLength(1);
  });

  test('directories, links and ignored names count as well', () => {
    const root = plant(`${scratch()}/s`, { 'SKILL.md': '' });
    for (let at = 0; at < 20; at++) mkdirSync(join(root, `d${at}`));
    expect(codes(openDirectory(root, { maxFiles: 10 }))).toEqual(['folder-too-large .']);
    rmSync(root, { recursive: true });
    plant(root, Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}.pyc`, ''])));
    expect(codes(openDirectory(root, { maxFiles: 10 }))).toEqual(['folder-too-large .']);
  });

  test('a directory of a size that may list millions is read only as far as needed', () => {
    const root = plant(`${scratch()}/s`, {});
    for (let at = 0; at < 5_000; at++) writeFileSync(join(root, `${'n'.repeat(240)}${at}`), '');
    const folder = openDirectory(root, { maxFiles: 50 });
    expect([folder.files.length, codes(folder)]).toEqual([50, ['folder-too-large .']]);
  });
});
