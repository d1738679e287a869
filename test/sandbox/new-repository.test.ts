import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isPlainConfig, isPlainRebase, isPlainRepository } from '../../src/sandbox/new-repository.ts';
import { findPlantedBelow } from '../../src/sandbox/planted.ts';
import { planProtection } from '../../src/sandbox/protect.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const git = (...words: string[]) =>
  execFileSync('git', words, {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: '/nowhere', GIT_CONFIG_NOSYSTEM: '1' },
  });
const newRepository = () => {
  const root = tempDir('repository');
  git('init', '-q', '-b', 'main', root);
  return root;
};

describe('WS-10 a repository that a run made', () => {
  it('is plain as git makes it: new, with commits, cloned, bare', async () => {
    const root = newRepository();
    git('-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x');
    git('clone', '-q', `file://${root}`, join(root, 'clone'));
    git('clone', '-q', '--bare', `file://${root}`, join(root, 'bare'));
    for (const path of ['.git', 'clone/.git', 'bare'])
      expect(await isPlainRepository(join(root, path)), path).toBe(true);
  });

  it.each([
    ['a program to watch files', '[core]\n\tfsmonitor = touch x\n'],
    ['a pager', '[core]\n\tpager = x\n'],
    ['hooks elsewhere', '[core]\n\thooksPath = x\n'],
    ['another tree', '[core]\n\tworktree = /\n'],
    ['a filter', '[filter "x"]\n\tclean = x\n'],
    ['another file', '[include]\n\tpath = x\n'],
    ['another file if', '[includeIf "gitdir:x"]\n\tpath = x\n'],
    ['an alias', '[alias]\n\tst = !x\n'],
    ['a program as remote', '[remote "origin"]\n\turl = ext::sh -c x\n'],
    ['an option as remote', '[remote "origin"]\n\turl = --upload-pack=x\n'],
    ['a program for the remote', '[remote "origin"]\n\tuploadpack = x\n'],
    ['a key on the line of its section', '[core] fsmonitor = x\n'],
    ['a section within a line', '[core]\n\tbare = false [core]\n\tfsmonitor = x\n'],
    ['capitals', '[CORE]\n\tFSMonitor = x\n'],
    ['a line that goes on', '[core]\n\tbare = false\\\n\n\tfsmonitor = x\n'],
    ['the old form of a subsection', '[core.x]\n\tbare = true\n'],
    ['a carriage return', '[core]\r\n\tfsmonitor = x\r\n'],
    ['a remark', '[core]\n\t; fsmonitor\n'],
  ])('is not with %s in its config', (_what, text) => expect(isPlainConfig(text)).toBe(false));

  it.each<[string, (at: string) => void]>([
    ['a hook', at => writeFileSync(join(at, 'hooks/post-checkout'), '')],
    [
      'a config that is a link',
      at => {
        rmSync(join(at, 'config'));
        symlinkSync('/etc/passwd', join(at, 'config'));
      },
    ],
    ['a config too large to read', at => writeFileSync(join(at, 'config'), '\n'.repeat(70_000))],
    ['another directory named', at => writeFileSync(join(at, 'commondir'), '../x')],
    ['a config of a worktree', at => writeFileSync(join(at, 'config.worktree'), '')],
    ['directories of submodules', at => mkdirSync(join(at, 'modules'))],
  ])('is not with %s', async (_what, change) => {
    const at = join(newRepository(), '.git');
    chmodSync(at, 0o755);
    change(at);
    expect(await isPlainRepository(at)).toBe(false);
  });

  it('in the root itself is disarmed by its HEAD; one that was there is left', async () => {
    const root = tempDir('root');
    const before = await planProtection(root, { reveal: [], unlock: [] });
    for (const name of ['objects', 'refs']) mkdirSync(join(root, name));
    writeFileSync(join(root, 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(root, 'config'), '[core]\n\tfsmonitor = x\n');
    expect((await findPlantedBelow(root, before)).planted).toEqual(['HEAD']);
    const plan = await planProtection(root, { reveal: [], unlock: [] });
    expect((await findPlantedBelow(root, plan)).planted).toEqual([]);
    expect(plan.readOnly).toContain('config');
    expect(plan.hold).toEqual([]);
  });

  it('that has its objects and its config elsewhere is one to git, and so to us', async () => {
    const root = tempDir('root');
    const before = await planProtection(root, { reveal: [], unlock: [] });
    for (const path of ['other/objects', 'other/refs', 'evil']) mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, 'other/config'), '[core]\n\tpager = x\n');
    writeFileSync(join(root, 'evil/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(root, 'evil/commondir'), '../other\n');
    const asked = execFileSync('git', ['config', 'core.pager'], { cwd: join(root, 'evil'), encoding: 'utf8' });
    expect(asked).toBe('x\n');
    expect((await findPlantedBelow(root, before)).planted).toEqual(['evil']);
  });
});

describe('a rebase under way', () => {
  const steps = (text: string, more: Record<string, string> = {}) => {
    const root = newRepository();
    const at = join(root, '.git/rebase-merge');
    mkdirSync(at);
    for (const [name, content] of Object.entries({ 'git-rebase-todo': text, ...more }))
      writeFileSync(join(at, name), content);
    return { root, at };
  };

  it.each([
    ['pick 1234567 exec\n# x false\n', {}, true],
    ['', { strategy: 'ort\n' }, true],
    ['pick 1234567 a\nexec true\n', {}, false],
    ['  x true\n', {}, false],
    ['pick 1\r\nx\ttrue', {}, false],
    ['', { strategy: '../../tool' }, false],
    ['x'.repeat(1024 * 1024 + 1), {}, false],
  ])('%j %j', async (text, more, plain) => {
    expect(await isPlainRebase(steps(text.slice(0, 1_100_000), more).at)).toBe(plain);
  });

  it('whose steps are no file cannot be judged', async () => {
    const { at } = steps('');
    rmSync(join(at, 'git-rebase-todo'));
    symlinkSync('/dev/zero', join(at, 'git-rebase-todo'));
    expect(await isPlainRebase(at)).toBe(false);
  });

  it('is found after the run only where it is new and executes something; one of before is not to be written', async () => {
    const root = newRepository();
    const before = await planProtection(root, { reveal: [], unlock: [] });
    expect(before.rebases).toEqual(['.git/rebase-merge']);
    const at = join(root, '.git/rebase-merge');
    mkdirSync(at);
    writeFileSync(join(at, 'git-rebase-todo'), 'pick 1234567 a\n');
    expect((await findPlantedBelow(root, before)).planted).toEqual([]);
    writeFileSync(join(at, 'git-rebase-todo'), 'exec true\n');
    expect((await findPlantedBelow(root, before)).planted).toEqual(['.git/rebase-merge']);
    const after = await planProtection(root, { reveal: [], unlock: [] });
    expect(after.readOnly).toContain('.git/rebase-merge');
    expect((await findPlantedBelow(root, after)).planted).toEqual([]);
  });
});
