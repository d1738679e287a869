import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errnoOf, foldName, GUARDED_BELOW, isBare, isSecretName } from '../base/index.ts';
import { isShut, openShut, readerOf } from './shut.ts';

const SKIP_WALK = new Set(['node_modules', '.git', '.venv', 'venv', '__pycache__']);
export const MAX_ENTRIES = 200_000;
export const MAX_DEPTH = 40;
/** Each is a mount of its own. */
const MAX_GUARDED = 500;
/** After a run each is moved away: more of them than may be mounted are no place to hide in. */
const MAX_PLANTED = 5000;

/** The root, where it is itself a git directory. */
export const ROOT = '.';

/** Paths are relative to the root. */
export type Looked = {
  secrets: string[];
  /** Git directories below the root: what is named so, and what git takes for one whatever its name. */
  git: string[];
  /** What else others would obey, below the root. */
  guarded: string[];
  /** Threat: behind one is a process of the host, which no missing network keeps a run from. */
  sockets: string[];
  /** Folders that cannot be looked into. */
  shut: string[];
  /** False when the tree was too large to look everywhere. */
  complete: boolean;
};

/**
 * Links are never followed out. Breadth first, so that what lies near the root is found before the count ends. `open`: after a
 * run, the folders that it shut are opened again; those in `shut` were so before, and hidden from it.
 */
export async function lookThrough(root: string, open: { shut: ReadonlySet<string> } | null): Promise<Looked> {
  const secrets = new Set<string>();
  const looked: Looked = { secrets: [], git: [], guarded: [], sockets: [], shut: [], complete: true };
  const reader = open === null ? readerOf(root) : null;
  const queue: { path: string; depth: number }[] = [{ path: '', depth: 0 }];
  let entries = 0;
  for (let at = 0, next = queue[at]; next !== undefined; next = queue[++at]) {
    const { path, depth } = next;
    const folder = join(root, path);
    if (open !== null && !open.shut.has(path) && !openShut(folder)) looked.complete = false;
    if (open?.shut.has(path) || isShut(folder, reader)) {
      if (path === '') looked.complete = false;
      else looked.shut.push(path);
      continue;
    }
    const found = await entriesOf(folder);
    if (found === null) looked.complete = false;
    entries += found?.length ?? 0;
    const special = looked.guarded.length + looked.sockets.length + looked.shut.length;
    if (entries > MAX_ENTRIES || special > (open === null ? MAX_GUARDED : MAX_PLANTED)) {
      looked.complete = false;
      break;
    }
    if (found === null) continue;
    if (isBare(new Set(found.map(({ name }) => name)))) looked.git.push(path === '' ? ROOT : path);
    for (const entry of found) {
      const name = join(path, entry.name);
      // As a file system that ignores case would read it: a Mac's, or a Windows disk.
      const folded = entry.name.startsWith('.') ? foldName(entry.name) : entry.name;
      if (path !== '' && folded === '.git') looked.git.push(name);
      if (entry.isSocket()) looked.sockets.push(name);
      if (entry.name === '.git') looked.sockets.push(...(await socketsIn(root, name)));
      if (path !== '' && GUARDED_BELOW.has(folded)) looked.guarded.push(name);
      if (isSecretName(entry.name.toLowerCase())) {
        if (entry.isSymbolicLink()) {
          // The link stays visible; what it points to, if it lies in the mount, is what must be hidden.
          const target = await realpath(join(root, name)).catch(() => null);
          if (target?.startsWith(`${root}/`)) secrets.add(relative(root, target));
        } else secrets.add(name);
      } else if (entry.isDirectory() && !SKIP_WALK.has(folded)) {
        if (depth < MAX_DEPTH) queue.push({ path: name, depth: depth + 1 });
        else looked.complete = false;
      }
    }
  }
  const directories = queue.map(({ path }) => path);
  looked.secrets = [...secrets, ...(await otherNames(root, secrets, directories))];
  return looked;
}

/** null: nobody knows what is in it, as where its path is too long to be named. */
async function entriesOf(path: string): Promise<Dirent[] | null> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    // Gone meanwhile, or nobody's to read: not the run's either.
    return ['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '') ? [] : null;
  }
}

/** Of a git directory the top alone: git's own daemon listens there. */
async function socketsIn(root: string, folder: string): Promise<string[]> {
  const found = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []); // a pointer file
  return found.filter(entry => entry.isSocket()).map(({ name }) => join(folder, name));
}

/** Threat: a secret that has a second name, a hard link, lies open under it. Looked for only where there is one. */
async function otherNames(
  root: string,
  secrets: ReadonlySet<string>,
  directories: readonly string[],
): Promise<string[]> {
  const identityOf = async (path: string) => {
    const info = await lstat(join(root, path)).catch(() => null); // gone meanwhile
    return info?.isFile() && info.nlink > 1 ? `${info.dev}:${info.ino}` : null;
  };
  const shared = new Set<string | null>(await Promise.all([...secrets].map(identityOf)));
  shared.delete(null);
  const found: string[] = [];
  if (shared.size === 0) return found;
  for (const directory of directories)
    for (const entry of await readdir(join(root, directory), { withFileTypes: true }).catch(() => [])) {
      const path = join(directory, entry.name);
      if (entry.isFile() && !secrets.has(path) && shared.has(await identityOf(path))) found.push(path);
    }
  return found;
}
