import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type GitWord, wordsObeyedByGit } from './git-paths.ts';
import { findHome } from './home.ts';

const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_POINTER_BYTES = 16 * 1024;
const MAX_CONFIGS = 50;

/** Where git looks: the folder that it works in, its own directory there, and the one that this shares with other worktrees. */
export type Repository = { top: string; directory: string; common: string };

/** `path` is a git directory, or the file that stands for one in a worktree or a submodule. null: neither. */
export function repositoryAt(path: string): Repository | null {
  const top = dirname(path);
  const pointed = readText(path, MAX_POINTER_BYTES);
  if (pointed === 'too large' || pointed === 'absent') return null;
  const to = pointed === 'directory' ? '' : /^gitdir: (.+)/.exec(pointed.text)?.[1];
  if (to === undefined) return null;
  const directory = pointed === 'directory' ? path : resolve(top, to.trim());
  const shared = readText(join(directory, 'commondir'), MAX_POINTER_BYTES);
  const common = typeof shared === 'string' ? directory : resolve(directory, shared.text.trim());
  return { top, directory, common };
}

/** Those above a folder, the nearest first: their commits may execute what lies in that folder. */
export function enclosingGits(folder: string): string[] {
  const found: string[] = [];
  for (let above = dirname(folder), below = folder; above !== below; below = above, above = dirname(above)) {
    const git = join(above, '.git');
    if (lstatSync(git, { throwIfNoEntry: false }) !== undefined) found.push(git);
  }
  return found;
}

/** A word of a config, and the folder that the config lies in. */
export type FoundWord = GitWord & { from: string };

/**
 * What the configs of a repository name, with those that they include. Of the user's own and the system's, which no project
 * decides about, only folders of hooks: these are often relative. null: it is too much to look for.
 */
export function wordsOfRepository({ directory, common }: Repository): FoundWord[] | null {
  const own = wordsWithIncluded([join(common, 'config'), join(directory, 'config.worktree')]);
  const others = wordsWithIncluded(configsOfUser(process.env));
  if (own === null || others === null) return null;
  return [...own, ...others.filter(({ kind }) => kind === 'hooks')];
}

function configsOfUser(env: NodeJS.ProcessEnv): string[] {
  const home = findHome(env);
  const named = env.GIT_CONFIG_GLOBAL;
  const below = env.XDG_CONFIG_HOME || (home === null ? null : join(home, '.config'));
  return [
    ...(env.GIT_CONFIG_NOSYSTEM === undefined ? ['/etc/gitconfig'] : []),
    ...(named === undefined && below !== null ? [join(below, 'git/config')] : []),
    ...(named === undefined && home !== null ? [join(home, '.gitconfig')] : []),
    ...(named === undefined ? [] : [named]),
  ];
}

/** Conditions are not judged: what is included for another branch will be included once that is there. */
function wordsWithIncluded(paths: readonly string[]): FoundWord[] | null {
  const configs = new Set(paths);
  const words: FoundWord[] = [];
  for (const path of configs) {
    const read = readText(path, MAX_CONFIG_BYTES);
    if (read === 'too large' || configs.size > MAX_CONFIGS) return null;
    const found = typeof read === 'string' ? [] : wordsObeyedByGit(read.text);
    if (found === null) return null;
    for (const { word, kind } of found) {
      const from = dirname(path);
      words.push({ word, kind, from });
      if (kind === 'config') configs.add(resolveGitPath(from, word));
    }
  }
  return words;
}

/** As git reads a path of a config. */
export function resolveGitPath(from: string, word: string): string {
  const home = word.startsWith('~/') ? findHome(process.env) : null;
  return home === null ? resolve(from, word) : join(home, word.slice(2));
}

/** Without waiting: a pipe may stand in its place, which git would not read either. */
function readText(path: string, maxBytes: number): { text: string } | 'directory' | 'absent' | 'too large' {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch {
    return 'absent'; // or cannot be reached: nor can git
  }
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) return 'directory';
    if (!stats.isFile()) return 'absent';
    if (stats.size > maxBytes) return 'too large';
    const buffer = Buffer.alloc(stats.size);
    return { text: buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0)) };
  } finally {
    closeSync(fd);
  }
}
