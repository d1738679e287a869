import { statSync, utimesSync } from 'node:fs';

/** No finer than this is it noted when something was last used: most uses then cost one look. */
const EXACT_MS = 6 * 3_600_000;

/** Notes that a directory that is kept for later is used now. False when it is not there, or cannot be looked at. */
export function markUsed(path: string): boolean {
  const now = Date.now();
  const usedAt = lastUse(path);
  if (usedAt === null) return false;
  if (now - usedAt > EXACT_MS) {
    try {
      utimesSync(path, now / 1000, now / 1000);
    } catch {
      // Where this cannot be noted, nothing can be removed either.
    }
  }
  return true;
}

/** Whether it was last used before then, as far as that is noted; false when it is not there. */
export function isUnusedSince(path: string, time: number): boolean {
  const usedAt = lastUse(path);
  return usedAt !== null && usedAt < time;
}

function lastUse(path: string): number | null {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return null; // as `existsSync` has it: whatever the reason, whoever wants to use it finds out
  }
}
