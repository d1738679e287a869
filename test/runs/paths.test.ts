import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { checkPaths, type GivenPath, mountsOf, protectionOf } from '../../src/runs/paths.ts';
import type { SandboxMount } from '../../src/sandbox/index.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

let base: string;
beforeEach(() => {
  base = realpathSync(tempDir('paths'));
  for (const path of [
    'work/.env',
    'work/.vscode/tasks.json',
    'work/.git/hooks/x',
    'home/.gitconfig',
    'home/notes/a.txt',
    'data/x',
    'own/policy.yaml',
  ]) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), '');
  }
});
const at = (path: string) => join(base, path);
const read = (path: string): GivenPath => ({ path: at(path), writable: false });
const write = (path: string): GivenPath => ({ path: at(path), writable: true });

describe('paths that a caller gives (WS-10, GB-11)', () => {
  const check = (wished: GivenPath[], workspace: 'rw' | 'ro' | null = 'rw') =>
    checkPaths(wished, workspace === null ? null : { path: at('work'), writable: workspace === 'rw' }, {
      data: at('data'),
      deciding: [at('own/policy.yaml')],
    });
  const why = (...args: Parameters<typeof check>) => {
    try {
      check(...args);
      return null;
    } catch (error) {
      if (error instanceof SkillboxError) return error.message.replaceAll(base, '');
      throw error;
    }
  };

  it('are real, in order, and each once with the most that was said of it', () => {
    symlinkSync('home/notes', at('link'));
    expect(check([write('link'), read('home/notes'), read('work/.env'), read('home/.gitconfig')])).toEqual([
      read('home/.gitconfig'),
      write('home/notes'),
      read('work/.env'),
    ]);
  });

  it.each([
    ['none', 'there is no /none to give to the run'],
    ['pipe', '/pipe is neither a file nor a folder'],
    ['work', '/work is the workspace, or holds it'],
    ['.', '/. is the workspace, or holds it'],
    ['data/x', '/data/x cannot be given to a run: it holds the data of Skillbox, or lies in it'],
    ['own', '/own cannot be given to a run: it holds the settings of Skillbox, or its policy or keys'],
    [
      'own/policy.yaml',
      '/own/policy.yaml cannot be given to a run: it holds the settings of Skillbox, or its policy or keys',
    ],
    ['other/.git/config', '/other/.git/config cannot be given to a run: it lies in a git directory'],
  ])('%s is refused', (path, message) => {
    execFileSync('mkfifo', [at('pipe')]);
    mkdirSync(at('other/.git'), { recursive: true });
    writeFileSync(at('other/.git/config'), '');
    expect(why([{ path: `${base}/${path}`, writable: false }])).toBe(message);
  });

  it('the system’s and the home are refused whatever they are asked for', () => {
    for (const path of ['/', '/etc/hostname', '/proc/self/status', '/usr/bin'])
      expect(why([{ path, writable: false }], null), path).toMatch(
        /cannot be given to a run: it (is part of the system|holds your home)/,
      );
  });

  it('are not so many that they could be a way to fill the machine with mounts', () => {
    for (let index = 0; index < 33; index++) writeFileSync(at(`home/${index}`), '');
    const many = (count: number) => Array.from({ length: count }, (_, index) => read(`home/${index}`));
    expect(why(many(32))).toBeNull();
    expect(why(many(33))).toMatch(/32 paths at most; these are 33/);
  });

  it('nothing of a workspace that is read-only can be written', () => {
    expect(why([write('work/.env')], 'ro')).toMatch(/the workspace is read-only for this run/);
    expect(why([read('work/.env')], 'ro')).toBeNull();
    expect(why([write('home/notes')], 'ro')).toBeNull();
  });

  it('in the workspace they are shown and unlocked there', () => {
    expect(protectionOf([read('work/.env'), write('work/.git/hooks'), write('home/notes')], at('work'))).toEqual({
      reveal: ['.env', '.git/hooks'],
      unlock: ['.git/hooks'],
    });
  });

  it('elsewhere they are mounted where they lie, with their own secrets hidden and nothing to be executed', () => {
    const mount = (given: GivenPath, protect = {}) => ({
      kind: 'bind',
      source: given.path,
      at: given.path,
      writable: given.writable,
      exec: false,
      protect: { reveal: [], unlock: [], ...protect },
    });
    const laid = (paths: GivenPath[], workspace: string | null = at('work'), taken: SandboxMount[] = []) =>
      mountsOf(paths, workspace, taken);
    expect(laid([read('home/.gitconfig'), read('work/.env')])).toEqual([mount(read('home/.gitconfig'))]);
    expect(laid([read('work/.env')], null)).toEqual([mount(read('work/.env'))]);
    expect(laid([write('home'), read('home/notes')])).toEqual([mount(write('home'), { reveal: ['notes'] })]);
    // What is inside of one that is only read has a mount of its own where it may be written.
    expect(laid([read('home'), write('home/notes')])).toEqual([
      mount(read('home'), { reveal: ['notes'], unlock: ['notes'] }),
      mount(write('home/notes')),
    ]);
    const tmpfs: SandboxMount = { kind: 'tmpfs', at: dirname(base), bytes: 1 };
    expect(laid([read('home')], null, [tmpfs])).toHaveLength(1);
    for (const taken of [at('home'), at('home/notes/deep'), base])
      expect(() => laid([read('home')], null, [{ kind: 'out', at: taken, directories: [] }])).toThrow(
        /is the sandbox's own/,
      );
  });
});
