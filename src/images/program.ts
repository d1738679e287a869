import { lstatSync, readlinkSync } from 'node:fs';
import { join, posix } from 'node:path';

const MAX_LINKS = 40;

/** The path inside an image of a program on its PATH, or null. Links are read as they mean inside: `/` is the image. */
export function findProgram(root: string, name: string, path: string): string | null {
  const candidates = name.includes('/') ? [name] : path.split(':').map(directory => posix.join('/', directory, name));
  return candidates.find(candidate => isExecutable(root, candidate)) ?? null;
}

function isExecutable(root: string, path: string): boolean {
  const file = fileAt(root, path);
  return file !== null && (file.mode & 0o111) !== 0;
}

/** The path inside of the file that a path means, without a link on the way; null where there is none. */
export function realPath(root: string, path: string): string | null {
  return fileAt(root, path)?.inside ?? null;
}

/** Where the regular file lies that a path means inside; null where there is none. */
export function fileAt(root: string, path: string): { at: string; inside: string; mode: number } | null {
  const todo = path.split('/').reverse();
  let at = '/';
  let links = 0;
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue;
    // posix.join stops at `/`, as the kernel does at the root of the sandbox.
    const next = posix.join(at, part);
    const info = lstatSync(join(root, next), { throwIfNoEntry: false });
    if (info === undefined) return null;
    if (!info.isSymbolicLink()) {
      at = next;
      if (todo.every(rest => rest === ''))
        return info.isFile() ? { at: join(root, at), inside: at, mode: info.mode } : null;
      if (!info.isDirectory()) return null;
      continue;
    }
    if (++links > MAX_LINKS) return null;
    const target = readlinkSync(join(root, next));
    if (target.startsWith('/')) at = '/';
    todo.push(...target.split('/').reverse());
  }
  return null;
}
