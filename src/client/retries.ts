/** `always`: twice is as good as once. `refused`: only when the server says that it did nothing. `never`: it cannot be sent again. */
export type Safety = 'always' | 'refused' | 'never';

/** Longer than this nobody waits for a server without being asked. */
export const MAX_WAIT_MS = 60_000;
const FIRST_MS = 200;
const MOST_MS = 5_000;

/** `status` null: there was no answer at all. */
export function isWorthAnother(safety: Safety, status: number | null, code: string | null): boolean {
  if (safety === 'never') return false;
  if (status === 429 || (status === 503 && code === 'SHUTTING_DOWN')) return true;
  return safety === 'always' && (status === null || status === 502 || status === 503 || status === 504);
}

/** Twice as long each time, and never the same for all: they would come back together. */
export function backoffMs(attempt: number): number {
  return Math.min(MOST_MS, FIRST_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Seconds or a date, as HTTP has it; null when neither can be read. */
export function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
