import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { type Account, errnoOf } from '../base/index.ts';

/** Null when it is not there, or leads nowhere. */
export function realPath(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'EACCES') return null;
    throw error;
  }
}

/** By whole names: `/a/skills-evil` does not lie in `/a/skills`. Both are real paths. */
export function liesIn(inner: string, outer: string): boolean {
  const way = relative(outer, inner);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`));
}

/**
 * Why somebody else could put other files at a real path; null when nobody can. `root` is what was trusted: above it a
 * directory for everybody will do if it is sticky, as /tmp is, since nobody can replace our entries there; from it on none.
 */
export function findStranger(path: string, root: string, account: Account): string | null {
  for (let at = path; ; at = dirname(at)) {
    const stats = statSync(at, { throwIfNoEntry: false });
    const fault = stats === undefined ? 'is not there' : faultOf(stats, liesIn(at, root), account);
    if (fault !== null) return `${at} ${fault}`;
    if (at === dirname(at)) return null;
  }
}

/** The same of what lies in it. What is gone meanwhile cannot be written either. */
export function findStrangerBelow(folder: string, files: readonly string[], account: Account): string | null {
  const asked = new Set<string>(['.']);
  for (const file of files) {
    for (let at = file; !asked.has(at); at = dirname(at)) {
      asked.add(at);
      const path = join(folder, at);
      const stats = statSync(path, { throwIfNoEntry: false });
      const fault = stats === undefined ? null : faultOf(stats, true, account);
      if (fault !== null) return `${path} ${fault}`;
    }
  }
  return null;
}

function faultOf(stats: Stats, inside: boolean, { uid }: Account): string | null {
  // Where there are no such owners there are no such modes either.
  if (uid === null) return null;
  if (stats.uid !== uid && stats.uid !== 0) return `belongs to another account (uid ${stats.uid})`;
  const everybody = (stats.mode & 0o002) !== 0;
  const sticky = (stats.mode & 0o1000) !== 0;
  return everybody && (inside || !sticky) ? 'can be written by everybody' : null;
}

/** Also of the path as it is written, whose links somebody could turn elsewhere. */
export function findStrangerOnTheWay(path: string, account: Account): string | null {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return `${at} is not there`;
    if (!stats.isSymbolicLink()) continue;
    const parent = realPath(dirname(at));
    if (parent === null) return `${at} is not there`;
    if (account.uid !== null && stats.uid !== account.uid && stats.uid !== 0) {
      return `${at} is a link of another account (uid ${stats.uid})`;
    }
    const fault = findStranger(parent, at, account);
    if (fault !== null) return fault;
  }
  return null;
}
