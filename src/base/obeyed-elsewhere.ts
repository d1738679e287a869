import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { wordsObeyedByGit } from './git-paths.ts';

const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_FOUND = 100;

/**
 * WS-10: what git executes or reads of a repository though it lies outside of the git directory, in the open: a hook that is a
 * link to a script of the project, another folder of hooks, a program or another config that its config names. Paths are
 * relative to the root; the root itself is never among them. Synchronous: a few files, for one repository.
 */
export function obeyedElsewhere(root: string, git: string): string[] {
  const directory = join(root, git);
  const found = new Set<string>();
  const add = (path: string, real: string | null) => {
    const inside = relative(root, real ?? path);
    const isOwn = `${inside}/`.startsWith(`${git}/`);
    if (inside !== '' && !inside.startsWith('..') && !isOwn && found.size < MAX_FOUND) found.add(inside);
  };
  for (const name of orNull(() => readdirSync(join(directory, 'hooks'))) ?? []) {
    const hook = join(directory, 'hooks', name);
    if (orNull(() => lstatSync(hook))?.isSymbolicLink() === true) add(hook, realPathOf(hook));
  }
  // Hooks and programs are named from the folder in which git works, other configs from where the first one lies.
  for (const name of ['config', 'config.worktree'])
    for (const { word, isPath } of wordsObeyedByGit(orNull(() => readStart(join(directory, name))) ?? ''))
      for (const from of [dirname(directory), directory]) {
        const path = resolve(from, word);
        const real = realPathOf(path);
        if (real !== null || isPath) add(path, real);
      }
  return [...found];
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

/** Empty for what is no file: a pipe in its place would be waited for. */
function readStart(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return '';
    const buffer = Buffer.alloc(Math.min(stats.size, MAX_CONFIG_BYTES));
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(fd);
  }
}
