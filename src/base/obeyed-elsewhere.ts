import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { repositoryAt, resolveGitPath, wordsOfRepository } from './git-configs.ts';

const MAX_FOUND = 100;

/** Where a folder of hooks is the project's own folder, git takes these of it and nothing else. */
const HOOKS: readonly string[] = [
  'applypatch-msg',
  'pre-applypatch',
  'post-applypatch',
  'pre-commit',
  'pre-merge-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'pre-rebase',
  'post-checkout',
  'post-merge',
  'pre-push',
  'pre-receive',
  'update',
  'proc-receive',
  'post-receive',
  'post-update',
  'reference-transaction',
  'push-to-checkout',
  'pre-auto-gc',
  'post-rewrite',
  'sendemail-validate',
  'fsmonitor-watchman',
  'p4-changelist',
  'p4-prepare-changelist',
  'p4-post-changelist',
  'p4-pre-submit',
  'post-index-change',
];

/**
 * WS-10: what git executes or reads of a repository though it lies outside of the git directory, in the open: a hook that is a
 * link to a script of the project, another folder of hooks, a program or another config that its config names. `git` is where
 * the git directory of a project is, or the file that stands for it, from the root; it may lie above. Paths are relative to the
 * root; the root itself is never among them. null: it is too much to look for, and anything may be obeyed.
 * Synchronous: a few files, for one repository.
 */
export function obeyedElsewhere(root: string, git: string): string[] | null {
  const repository = repositoryAt(join(root, git));
  if (repository === null) return [];
  const words = wordsOfRepository(repository);
  if (words === null) return null;
  const found = new Set<string>();
  const add = (path: string) => {
    const inside = relative(root, path);
    const isOwn = `${inside}/`.startsWith(`${git}/`);
    if (inside !== '' && inside !== '..' && !inside.startsWith('../') && !isOwn) found.add(inside);
  };
  const addHooks = (folder: string) => {
    const real = realPathOf(folder) ?? folder;
    add(real);
    if (relative(root, real) === '') for (const name of HOOKS) add(join(real, name));
    for (const name of orNull(() => readdirSync(real)) ?? []) {
      const hook = join(real, name);
      if (orNull(() => lstatSync(hook))?.isSymbolicLink() !== true) continue;
      add(realPathOf(hook) ?? resolve(real, readlinkSync(hook)));
    }
  };
  const { top, directory, common } = repository;
  addHooks(join(common, 'hooks'));
  // Hooks and programs are named from the folder in which git works, other configs from where the first one lies.
  for (const { word, kind, from } of words)
    for (const base of kind === 'config' ? [from] : [top, directory]) {
      const path = resolveGitPath(base, word);
      if (kind === 'hooks') addHooks(path);
      else {
        const real = realPathOf(path);
        if (real !== null || kind === 'config') add(real ?? path);
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
