import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type GitWord, wordsObeyedByGit } from './git-paths.ts';

const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_FOUND = 100;

/**
 * WS-10: what git executes or reads of a repository though it lies outside of the git directory, in the open: a hook that is a
 * link to a script of the project, another folder of hooks, a program or another config that its config names. Paths are
 * relative to the root; the root itself is never among them. null: it is too much to look for, and anything may be obeyed.
 * Synchronous: a few files, for one repository.
 */
export function obeyedElsewhere(root: string, git: string): string[] | null {
  const directory = join(root, git);
  const found = new Set<string>();
  const add = (path: string, real: string | null) => {
    const inside = relative(root, real ?? path);
    const isOwn = `${inside}/`.startsWith(`${git}/`);
    if (inside !== '' && !inside.startsWith('..') && !isOwn) found.add(inside);
  };
  for (const name of orNull(() => readdirSync(join(directory, 'hooks'))) ?? []) {
    const hook = join(directory, 'hooks', name);
    if (orNull(() => lstatSync(hook))?.isSymbolicLink() === true) add(hook, realPathOf(hook));
  }
  // Hooks and programs are named from the folder in which git works, other configs from where the first one lies.
  for (const name of ['config', 'config.worktree']) {
    const words = wordsOf(join(directory, name));
    if (words === null) return null;
    for (const { word, isPath } of words)
      for (const from of [dirname(directory), directory]) {
        const path = resolve(from, word);
        const real = realPathOf(path);
        if (real !== null || isPath) add(path, real);
      }
  }
  return found.size > MAX_FOUND ? null : [...found];
}

function realPathOf(path: string): string | null {
  return orNull(() => realpathSync.native(path));
}

/** null for what is not there, or cannot be reached: nor can git. */
function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/** Without waiting: a pipe may stand in its place. null: there are too many. */
function wordsOf(path: string): GitWord[] | null {
  const fd = orNull(() => openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
  if (fd === null) return [];
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return [];
    if (stats.size > MAX_CONFIG_BYTES) return null;
    const buffer = Buffer.alloc(stats.size);
    return wordsObeyedByGit(buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0)));
  } finally {
    closeSync(fd);
  }
}
