import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
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

describe('X-08 links and other things that are no plain files', () => {
  test('a link to a file of the skill is read as a copy of it', async () => {
    const root = plant(`${scratch()}/s`, { 'SKILL.md': 'x', 'sub/run.sh': { content: 'go', executable: true } });
    symlinkSync('sub/run.sh', join(root, 'direct'));
    symlinkSync('direct', join(root, 'chain'));
    symlinkSync(join(root, 'SKILL.md'), join(root, 'sub/absolute'));
    symlinkSync('sub', join(root, 'via'));
    const folder = openDirectory(root);
    expect(codes(folder)).toEqual([
      'folder-link-inside chain',
      'folder-link-inside direct',
      'folder-link-inside sub/absolute',
      'folder-link-outside via',
    ]);
    expect(folder.file('chain')).toEqual({ path: 'chain', size: 2, executable: true });
    expect(folder.read('chain', 10).toString()).toBe('go');
    expect((await collect(folder.stream('sub/absolute'))).toString()).toBe('x');
  });

  test('every other link is left out: outside, beside with a common prefix, nowhere, in a circle, to a directory', () => {
    const base = scratch();
    const root = plant(`${base}/skill`, { 'SKILL.md': 'x', 'dir/a': '' });
    plant(`${base}/skill-secrets`, { key: 'k' });
    const links = {
      etc: '/etc/passwd',
      up: '../skill-secrets/key',
      none: 'none-there',
      loop: 'loop',
      dir: 'dir',
      self: '.',
      dev: '/dev/zero',
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, `l-${name}`));
    const folder = openDirectory(root);
    expect(paths(folder)).toEqual(['SKILL.md', 'dir/a']);
    expect(codes(folder)).toEqual(
      Object.keys(links)
        .map(name => `folder-link-outside l-${name}`)
        .sort(),
    );
    expect(hasErrors(folder.problems)).toBe(true);
  });

  test('a link does not carry out what is left out itself', () => {
    const root = plant(`${scratch()}/s`, {
      'SKILL.md': 'x',
      '.env': 'KEY=1',
      '.git/config': 'c',
      'drafts/a': '',
      '.skillboxignore': 'drafts/\n',
    });
    symlinkSync('.env', join(root, 'notes.md'));
    symlinkSync('.git/config', join(root, 'c'));
    symlinkSync('drafts/a', join(root, 'd'));
    const folder = openDirectory(root);
    expect(paths(folder)).toEqual(['.skillboxignore', 'SKILL.md']);
    expect(codes(folder)).toEqual([
      'folder-secret-file .env',
      'folder-link-outside c',
      'folder-link-outside d',
      'folder-link-outside notes.md',
    ]);
  });

  test('an ignore file that is a link is followed only inside', () => {
    const outside = plant(scratch(), { rules: 'a\n' });
    const root = plant(`${scratch()}/s`, { a: '', rules: 'a\n' });
    symlinkSync(join(outside, 'rules'), join(root, '.skillboxignore'));
    expect(paths(openDirectory(root))).toEqual(['a', 'rules']);
    unlinkSync(join(root, '.skillboxignore'));
    symlinkSync('rules', join(root, '.skillboxignore'));
    const folder = openDirectory(root);
    expect([paths(folder), codes(folder)]).toEqual([
      ['.skillboxignore', 'rules'],
      ['folder-link-inside .skillboxignore'],
    ]);
  });

  test('hard links are told', () => {
    const base = scratch();
    const root = plant(`${base}/s`, { 'SKILL.md': 'x' });
    plant(base, { outside: 'o' });
    linkSync(join(base, 'outside'), join(root, 'hard'));
    expect([paths(openDirectory(root)), codes(openDirectory(root))]).toEqual([
      ['SKILL.md', 'hard'],
      ['folder-hard-link hard'],
    ]);
  });

  test('a FIFO and a socket are left out without being opened', async () => {
    const root = plant(`${scratch()}/s`, { 'SKILL.md': 'x' });
    expect(spawnSync('mkfifo', [join(root, 'pipe')]).status).toBe(0);
    const server = createServer();
    await new Promise<void>(done => server.listen(join(root, 'socket'), done));
    onTestFinished(() => void server.close());
    const folder = openDirectory(root);
    expect([paths(folder), codes(folder)]).toEqual([
      ['SKILL.md'],
      ['folder-special-file pipe', 'folder-special-file socket'],
    ]);
  });

  test('unsafe and broken names are left out and shown safely', () => {
    const root = plant(`${scratch()}/s`, {
      'SKILL.md': '',
      'a\nb': '',
      '\x1b[2Jx': '',
      'back\\slash': '',
      'con.txt': '',
      '\u202etxt': '',
      'nul/inner': '',
    });
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x62, 0xff, 0xfe])]), '');
    const folder = openDirectory(root);
    expect(paths(folder)).toEqual(['SKILL.md']);
    expect(codes(folder)).toEqual([
      'folder-name-unsafe <U+001B>[2Jx',
      'folder-name-unsafe <U+202E>txt',
      'folder-name-unsafe a<U+000A>b',
      'folder-name-unsafe back\\slash',
      'folder-name-unsafe b\ufffd\ufffd',
      'folder-name-unsafe con.txt',
      'folder-name-unsafe nul',
    ]);
    for (const problem of folder.problems) expect(problem.message).not.toMatch(/[\0-\x1f\u202e]/);
  });

  test('of two names that collide somewhere, the first by bytes stays', () => {
    const folder = open({ 'README.md': '', 'readme.md': '', 'A/x': '', 'a/y': '', é: '', 'e\u0301': '' });
    expect(paths(folder)).toEqual(['A/x', 'README.md', 'e\u0301']);
    expect(codes(folder)).toEqual([
      'folder-name-collision a/y',
      'folder-name-collision readme.md',
      'folder-name-collision é',
    ]);
  });

  test('what the user may not read is told, not thrown', () => {
    const base = scratch();
    chmodSync(base, 0o755);
    const root = plant(`${base}/s`, { 'SKILL.md': 'x', closed: 'y', 'dir/inner': 'z' });
    chmodSync(join(root, 'closed'), 0);
    chmodSync(join(root, 'dir'), 0);
    onTestFinished(() => chmodSync(join(root, 'dir'), 0o755));
    const script = `import { openDirectory } from ${JSON.stringify(join(import.meta.dirname, '../../src/skill/directory.ts'))};
      const folder = openDirectory(process.argv[1]);
      console.log(JSON.stringify([folder.files.map(f => f.path), folder.problems.map(p => p.code + ' ' + p.file)]));`;
    // Root may read everything, so the question is asked as somebody else.
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script, '--', root], {
      ...user,
      encoding: 'utf8',
    });
    expect(child.stderr.replaceAll(/.*Warning.*\n?/g, '')).toBe('');
    expect(JSON.parse(child.stdout)).toEqual([['SKILL.md'], ['folder-unreadable closed', 'folder-unreadable dir']]);
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
