import { lstatSync, type Stats, statSync } from 'node:fs';

/** Whose a file is, and who may write it. */
export type Ownership = { uid: number; mode: number };

const OWN_UID = process.getuid?.();
const WITHOUT_ERROR = { throwIfNoEntry: false } as const;

/** Nobody but this account can write it. */
export function isOurs({ uid, mode }: Ownership): boolean {
  return isOursBy(uid, mode);
}

/** For whoever has the numbers alone. */
export function isOursBy(uid: number, mode: number): boolean {
  return OWN_UID === undefined || (uid === OWN_UID && (mode & 0o002) === 0);
}

/** Of a link what it leads to: a link has no mode of its own. `mark` is what the path itself is. */
export function isOursAt(path: string, mark: Stats | null): boolean {
  const stats = mark?.isSymbolicLink() ? statOf(path) : mark;
  return stats !== null && isOurs(stats);
}

export function lstatOf(path: string): Stats | null {
  try {
    return lstatSync(path, WITHOUT_ERROR) ?? null;
  } catch {
    return null; // cannot be asked: read anew, which says why
  }
}

export function statOf(path: string): Stats | null {
  try {
    return statSync(path, WITHOUT_ERROR) ?? null;
  } catch {
    return null; // a loop of links, or a directory that is closed to us: there is nothing to be found
  }
}
