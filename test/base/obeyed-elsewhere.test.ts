import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { obeyedElsewhere } from '../../src/base/index.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

let root: string;
let home: string;

beforeEach(() => {
  const base = tempDir('obeyed');
  [root, home] = [join(base, 'project'), join(base, 'home')];
  for (const path of [root, home]) mkdirSync(path);
  for (const name of ['XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL']) vi.stubEnv(name, undefined);
  vi.stubEnv('HOME', home);
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
});
afterEach(() => vi.unstubAllEnvs());

function write(path: string, text: string, below = root): void {
  mkdirSync(dirname(join(below, path)), { recursive: true });
  writeFileSync(join(below, path), text);
}
const git = (at: string, ...words: string[]) =>
  execFileSync('git', ['-C', join(root, at), '-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { stdio: 'pipe' });
const found = (at = root, directory = '.git') => obeyedElsewhere(at, directory)?.sort();

describe('what git obeys outside of its directory (WS-10)', () => {
  it('what an included config names, however far down and wherever it lies', () => {
    write('.git/config', '[include]\n\tpath = ../team.conf\n[includeIf "onbranch:x"]\n\tpath = ~/mine.conf\n');
    write('team.conf', '[core]\n\thooksPath = .githooks\n[include]\n\tpath = conf/more\n\tpath = team.conf\n');
    write('conf/more', '[core]\n\tfsmonitor = bin/watch\n');
    write('mine.conf', '[core]\n\thooksPath = own-hooks\n', home);
    write('bin/watch', '');
    expect(found()).toEqual(['.githooks', 'bin/watch', 'conf/more', 'own-hooks', 'team.conf']);
  });

  it('too many configs are none that could be relied on', () => {
    const name = (at: number) => `[include]\n\tpath = ../c${at}\n`;
    write('.git/config', name(0));
    for (let at = 0; at < 60; at++) write(`c${at}`, `[include]\n\tpath = c${at + 1}\n`);
    expect(found()).toBeUndefined();
  });

  it('a hook that is a link, in whatever folder of hooks it lies', () => {
    write('.git/config', '[core]\n\thooksPath = .githooks\n');
    write('tools/check', '');
    mkdirSync(join(root, '.githooks'));
    symlinkSync('../tools/check', join(root, '.githooks/pre-commit'));
    symlinkSync('../tools/later', join(root, '.githooks/pre-push'));
    expect(found()).toEqual(['.githooks', 'tools/check', 'tools/later']);
  });

  it.each(['.', 'sub/..', '$ROOT'])('hooks among the files of the project itself (%s)', path => {
    mkdirSync(join(root, 'sub'));
    write('.git/config', `[core]\n\thooksPath = ${path.replace('$ROOT', root)}\n`);
    expect(found()).toEqual(expect.arrayContaining(['pre-commit', 'post-checkout', 'reference-transaction']));
    expect(found()).not.toContain('');
  });

  it('a worktree, and a submodule, obey the config of the repository that they belong to', () => {
    git('.', 'init', '-q');
    git('.', 'commit', '-q', '--allow-empty', '-m', 'a');
    git('.', 'config', 'core.hooksPath', '.husky');
    git('.', 'worktree', 'add', '-q', '../tree');
    expect(found(join(root, '../tree'))).toEqual(['.husky']);
    git('../tree', 'config', 'extensions.worktreeConfig', 'true');
    git('../tree', 'config', '--worktree', 'core.hooksPath', 'here');
    expect(found(join(root, '../tree'))).toEqual(['.husky', 'here']);

    git('../tree', 'worktree', 'list');
    git('.', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', join(root, '../project'), 'vendor/own');
    git('vendor/own', 'config', 'core.hooksPath', 'hooks');
    expect(found(root, 'vendor/own/.git')).toEqual(expect.arrayContaining(['vendor/own/hooks']));
  });

  it('a repository further up, for what of the workspace it obeys', () => {
    write('.git/config', '[core]\n\thooksPath = packages/a/hooks\n\tfsmonitor = packages/b/watch\n');
    write('packages/b/watch', '');
    mkdirSync(join(root, 'packages/a'));
    expect(found(join(root, 'packages/a'), '../../.git')).toEqual(['hooks']);
    expect(found(join(root, 'packages/b'), '../../.git')).toEqual(['watch']);
  });

  it('a folder of hooks that the user has in every project', () => {
    write('.git/config', '[core]\n\tbare = false\n');
    write('.gitconfig', '[core]\n\thooksPath = .githooks\n[alias]\n\tlg = log --oneline\n', home);
    write('.config/git/config', '[core]\n\thooksPath = ~/hooks\n', home);
    mkdirSync(join(root, 'log'));
    expect(found()).toEqual(['.githooks']);
    vi.stubEnv('GIT_CONFIG_GLOBAL', join(home, 'none'));
    expect(found()).toEqual([]);
  });

  it('where there is no repository there is nothing', () => {
    write('.gitconfig', '[core]\n\thooksPath = .githooks\n', home);
    expect(found()).toEqual([]);
    write('.git', 'no pointer\n');
    expect(found()).toEqual([]);
  });
});
