import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { wordsObeyedByGit } from '../base/index.ts';

const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_FOUND = 100;

/**
 * WS-10: what git executes or reads of a repository though it lies outside of the git directory, in the open: a hook that is a
 * link to a script of the project, another folder of hooks, a program or another config that its config names. Paths are
 * relative to the root; the root itself is never among them.
 */
export async function obeyedElsewhere(root: string, git: string): Promise<string[]> {
  const directory = join(root, git);
  const found = new Set<string>();
  const add = async (path: string, real: string | null) => {
    const inside = relative(root, real ?? path);
    const isOwn = `${inside}/`.startsWith(`${git}/`);
    if (inside !== '' && !inside.startsWith('..') && !isOwn && found.size < MAX_FOUND) found.add(inside);
  };
  for (const name of await readdir(join(directory, 'hooks')).catch(() => [])) {
    const hook = join(directory, 'hooks', name);
    if (await isLink(hook)) await add(hook, await realPathOf(hook));
  }
  // Hooks and programs are named from the folder in which git works, other configs from where the first one lies.
  for (const name of ['config', 'config.worktree'])
    for (const { word, isPath } of wordsObeyedByGit(await readStart(join(directory, name))))
      for (const from of [dirname(directory), directory]) {
        const path = resolve(from, word);
        const real = await realPathOf(path);
        if (real !== null || isPath) await add(path, real);
      }
  return [...found];
}

function realPathOf(path: string): Promise<string | null> {
  return realpath(path).catch(() => null);
}

function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    info => info.isSymbolicLink(),
    () => false,
  );
}

/** Empty for what is no file: a pipe in its place would be waited for. */
async function readStart(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return '';
  try {
    if (!(await file.stat()).isFile()) return '';
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_CONFIG_BYTES) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
