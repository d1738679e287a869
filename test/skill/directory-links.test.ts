import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hasErrors, openDirectory } from '../../src/skill/index.ts';
import { codes, collect, paths, plant, scratch, type Tree } from './scratch.ts';

const open = (tree: Tree) => openDirectory(plant(`${scratch()}/demo`, tree));

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
    // Root may read everything, so the child becomes somebody else once it has loaded the program.
    const script = `import { openDirectory } from ${JSON.stringify(join(import.meta.dirname, '../../src/skill/directory.ts'))};
      if (process.getuid() === 0) process.setuid(65534);
      const folder = openDirectory(process.argv[1]);
      console.log(JSON.stringify([folder.files.map(f => f.path), folder.problems.map(p => p.code + ' ' + p.file)]));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script, '--', root], { encoding: 'utf8' });
    expect(child.stderr.replaceAll(/.*Warning.*\n?/g, '')).toBe('');
    expect(JSON.parse(child.stdout)).toEqual([['SKILL.md'], ['folder-unreadable closed', 'folder-unreadable dir']]);
  });
});
