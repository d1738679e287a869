import { statSync, utimesSync } from 'node:fs';
import { errnoOf } from './errors.ts';

/** No finer than this is it noted when something was last used: most uses then cost one look. */
const EXACT_MS = 6 * 3_600_000;

/** Notes that a directory that is kept for later is used now. False when it is not there. */
export function markUsed(path: string): boolean {
  try {
    const now = Date.now();
    if (now - statSync(path).mtimeMs > EXACT_MS) utimesSync(path, now / 1000, now / 1000);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Whether it was last used before then, as far as that is noted; false when it is not there. */
export function isUnusedSince(path: string, time: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && stats.mtimeMs < time;
}
