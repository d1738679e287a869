import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { checkPolicy, createJudge, decide, openTrustStore } from '../../src/policy/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { FIRST, request } from './make.ts';

const base = tempDirectory();
let root = '';
let count = 0;
beforeEach(() => {
  root = join(base, String(count++));
  mkdirSync(join(root, 'config'), { recursive: true });
  mkdirSync(join(root, 'repo/.git'), { recursive: true });
  mkdirSync(join(root, 'repo/inner/deep'), { recursive: true });
});

const judge = (directory: string | null) =>
  createJudge({
    userPolicy: join(root, 'config/policy.yaml'),
    directory: directory === null ? null : join(root, directory),
    bundled: [],
    own: [],
    store: openTrustStore(join(root, 'data')),
  });
const DENY = 'version: 1\nrules: [{name: no, when: {}, verdict: deny}]\n';
const sources = (directory: string | null, workspace: string | null = null) =>
  judge(directory)
    .policies(workspace === null ? null : join(root, workspace))
    .projects.map(({ source }) => source.slice(root.length + 1));

describe('the files in force', () => {
  test('are the shipped rules where there is no file', () => {
    const { user, projects, shipped } = judge('repo').policies(null);
    expect([user, projects, shipped.source]).toEqual([null, [], 'default']);
  });

  test('load the YAML library only when there is one', () => {
    const program = `
      import { createRequire } from 'node:module';
      import { loadPolicy } from ${JSON.stringify(join(import.meta.dirname, '../../src/policy/index.ts'))};
      const found = loadPolicy(process.argv[1], 'user');
      const loaded = Object.keys(createRequire('/').cache).some(path => path.includes('/yaml/dist/'));
      console.log(JSON.stringify([found?.fault ?? null, found !== null, loaded]));`;
    const loads = () =>
      JSON.parse(
        execFileSync(process.execPath, ['--input-type=module', '-e', program, join(root, 'config/policy.yaml')], {
          encoding: 'utf8',
        }),
      ) as unknown;
    expect(loads()).toEqual([null, false, false]);
    writeFiles(root, { 'config/policy.yaml': 'version: 1\n' });
    expect(loads()).toEqual([null, true, true]);
  });

  test('are not those that somebody put into a directory such as /tmp, with a .git to make all of it a repository', () => {
    writeFiles(root, { 'tmp/.git/HEAD': '', 'tmp/.skillbox/policy.yaml': DENY, 'tmp/mine/a.txt': '' });
    expect(sources('tmp/mine')).toEqual(['tmp/.skillbox/policy.yaml']);
    chmodSync(join(root, 'tmp'), 0o1777);
    expect(sources('tmp/mine')).toEqual([]);
    // Whoever stands in it has chosen to.
    expect(sources('tmp')).toEqual(['tmp/.skillbox/policy.yaml']);
  });

  test('are the user’s own and those of every project from here up to the root of the repository', () => {
    writeFiles(root, {
      'config/policy.yaml': 'version: 1\n',
      '.skillbox/policy.yaml': DENY,
      'repo/.skillbox/policy.yaml': DENY,
      'repo/inner/.skillbox/policy.yaml': DENY,
    });
    expect(judge(null).policies(null).user?.fault).toBeNull();
    // Not the one above the repository.
    expect(sources('repo/inner/deep')).toEqual(['repo/inner/.skillbox/policy.yaml', 'repo/.skillbox/policy.yaml']);
    // Outside a repository only the directory's own.
    expect(sources('.')).toEqual(['.skillbox/policy.yaml']);
    expect(sources('config')).toEqual([]);
    // The workspace counts like the directory, once each.
    expect(sources(null, 'repo')).toEqual(['repo/.skillbox/policy.yaml']);
    expect(sources('repo', 'repo')).toEqual(['repo/.skillbox/policy.yaml']);
    expect(sources('config', 'repo/inner')).toHaveLength(2);
  });

  test('are read anew each time', () => {
    const kept = judge('repo');
    expect(kept.policies(null).projects).toEqual([]);
    writeFiles(root, { 'repo/.skillbox/policy.yaml': DENY });
    expect(kept.policies(null).projects).toHaveLength(1);
  });
});

describe('a file that cannot be relied on denies everything', () => {
  const verdict = () => decide(judge('repo').policies(null), request(), FIRST);
  const own = () => join(root, 'config/policy.yaml');
  const project = () => join(root, 'repo/.skillbox/policy.yaml');
  const mayNotRead = process.getuid?.() !== 0;

  test.each<[string, () => void, string]>([
    ['a folder', () => mkdirSync(own()), 'it is not a file'],
    ['a pipe that nobody writes to', () => execFileSync('mkfifo', [own()]), 'it is not a file'],
    ['a link to nothing', () => symlinkSync('gone', own()), 'it is a link to nothing'],
    ['a link to itself', () => symlinkSync('policy.yaml', own()), 'it is a link'],
    [
      'a file that everybody can write to',
      () => {
        writeFiles(root, { 'config/policy.yaml': 'version: 1\n' });
        chmodSync(own(), 0o666);
      },
      'everybody can write to it',
    ],
    ['no UTF-8', () => writeFiles(root, { 'config/policy.yaml': Buffer.from([0xff, 0xfe, 0x20]) }), 'it is not UTF-8'],
    [
      'too large',
      () => writeFiles(root, { 'config/policy.yaml': `version: 1\n# ${'x'.repeat(70_000)}\n` }),
      'it has more than 65536 bytes',
    ],
    [
      'a project’s link',
      () => {
        writeFiles(root, { 'repo/real.yaml': 'version: 1\n', 'repo/.skillbox/x': '' });
        symlinkSync('../real.yaml', project());
      },
      'it is a link',
    ],
    ['an invalid project', () => writeFiles(root, { 'repo/.skillbox/policy.yaml': 'rules: 1\n' }), 'line 1'],
  ])('%s', (_what, make, fault) => {
    expect(verdict().verdict).toBe('allow');
    make();
    const decision = verdict();
    expect(decision).toMatchObject({ verdict: 'deny', rule: { name: 'unusable-policy', index: -1 } });
    expect(decision.reasons[0]).toContain(fault);
  });

  test.skipIf(mayNotRead)('another account’s file (needs root)', () => {
    writeFiles(root, { 'config/policy.yaml': 'version: 1\n' });
    chownSync(own(), 12_345, 12_345);
    expect(verdict().reasons[0]).toContain('it belongs to another account (uid 12345)');
  });

  test('the user’s own may be a link into a folder of settings', () => {
    writeFiles(root, { 'dotfiles/policy.yaml': DENY });
    symlinkSync('../dotfiles/policy.yaml', own());
    expect(verdict()).toMatchObject({ verdict: 'deny', rule: { name: 'no' } });
  });

  test('a folder .skillbox that is a file is no policy', () => {
    writeFiles(root, { 'repo/.skillbox': 'x' });
    expect(verdict().verdict).toBe('allow');
  });
});

test('a file is checked as a project’s where it lies in .skillbox', () => {
  writeFiles(root, { 'repo/.skillbox/policy.yaml': 'version: 1\nlower: {memory: none}\n' });
  const path = join(root, 'repo/.skillbox/policy.yaml');
  expect(checkPolicy(path, null)).toMatchObject({ scope: 'project', diagnostics: [{ line: 2, column: 8 }] });
  expect(checkPolicy(path, 'user')).toEqual({ scope: 'user', diagnostics: [] });
  rmSync(path);
  expect(checkPolicy(path, null)).toBeNull();
});
