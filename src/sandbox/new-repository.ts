import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, GIT_GUARDED } from '../base/index.ts';

const MAX_CONFIG_BYTES = 64 * 1024;
/** What `git init` and `git clone` write, and nothing that names a program. */
const PLAIN: readonly RegExp[] = [
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks) = \w+$/,
  /^extensions\.objectformat = \w+$/,
  /^user\.(name|email) = .*$/,
  /^(remote|submodule)\..+\.url = (https?:\/\/|ssh:\/\/|git:\/\/|file:\/\/|\/|[\w.-]+@[\w.-]+:)[^\s"\\]*$/,
  /^remote\..+\.fetch = \+?refs\/\S*$/,
  /^branch\..+\.(remote|merge|rebase) = [\w./-]*$/,
  /^submodule\.(.+\.)?active = [\w./-]*$/,
];
/** Part of every git directory, or told apart below. */
const LOOKED_INTO = new Set(['hooks', 'config', 'info']);

/** Of a git directory: a rebase under way. */
export const REBASE = 'rebase-merge';
const MAX_TODO_BYTES = 1024 * 1024;

/**
 * Threat: `git rebase --continue` executes what the steps of a rebase say, and somebody finds one under way that a run left. It may
 * stay when no step is a command, and its strategy is one of git's own.
 */
export async function isPlainRebase(path: string): Promise<boolean> {
  try {
    const steps = (await textIn(path, 'git-rebase-todo')) ?? '';
    const strategy = (await textIn(path, 'strategy')) ?? 'ort';
    return !/^\s*(x|exec)(\s|$)/m.test(steps) && /^(ort|recursive|resolve|octopus|ours|subtree)\n?$/.test(strategy);
  } catch {
    return false; // what cannot be read cannot be judged
  }
}

async function textIn(folder: string, name: string): Promise<string | null> {
  const path = join(folder, name);
  if (!(await isThere(path))) return null;
  const info = await lstat(path);
  if (!info.isFile() || info.size > MAX_TODO_BYTES) throw new Error('not a file of git');
  return readFile(path, 'utf8');
}

/**
 * A repository that a run made or cloned is ordinary work. It may stay when whoever goes there and asks git for its status
 * executes nothing: a plain config, no hooks but samples, nothing that leads to another config.
 */
export async function isPlainRepository(path: string): Promise<boolean> {
  try {
    if (!(await lstat(path)).isDirectory()) return false;
    for (const name of GIT_GUARDED) if (!LOOKED_INTO.has(name) && (await isThere(join(path, name)))) return false;
    if ((await isThere(join(path, REBASE))) && !(await isPlainRebase(join(path, REBASE)))) return false;
    const hooks = (await isThere(join(path, 'hooks'))) ? await readdir(join(path, 'hooks')) : [];
    if (hooks.some(name => !name.endsWith('.sample'))) return false;
    const config = join(path, 'config');
    if (!(await isThere(config))) return true;
    const info = await lstat(config);
    return info.isFile() && info.size <= MAX_CONFIG_BYTES && isPlainConfig(await readFile(config, 'utf8'));
  } catch {
    return false; // what cannot be read cannot be judged
  }
}

/** What is not written as git writes it is not read as git might. */
export function isPlainConfig(text: string): boolean {
  let section = '';
  return text.split('\n').every(line => {
    if (line === '') return true;
    const [, head, sub] = /^\[([a-z]+)(?: "([^"\\\]]+)")?\]$/.exec(line) ?? [];
    if (head !== undefined) {
      section = sub === undefined ? head : `${head}.${sub}`;
      return true;
    }
    const [, key, value] = /^\t([a-zA-Z]+) = ([^"\\#;]*)$/.exec(line) ?? [];
    return key !== undefined && PLAIN.some(pattern => pattern.test(`${section}.${key.toLowerCase()} = ${value}`));
  });
}

/** Threat: what cannot be looked at is not absent: a git directory that its owner may not enter until it is opened again. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}
