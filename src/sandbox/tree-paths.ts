import { lstat } from 'node:fs/promises';
import { errnoOf } from '../base/index.ts';

/** What lies at a path, links not followed. */
export type Kind = 'plain' | 'link' | 'absent';

/** `a/b/c` → `a`, `a/b`. */
export function parents(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

export async function kindOf(path: string): Promise<Kind> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'link' : 'plain';
  } catch (error) {
    if (isOutOfReach(error)) return 'absent';
    throw error;
  }
}

/** Not there, or in a folder that is shut: nobody obeys it as long as it is. */
export function isOutOfReach(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '');
}
