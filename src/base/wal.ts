import type { DatabaseSync } from 'node:sqlite';

const RETRY_MS = 10;

/**
 * Switches a database to its write-ahead log. SQLite's own busy timeout does not cover this switch: two processes that
 * open a new file at once would find it locked, so the later one tries again.
 */
export function useWal(database: DatabaseSync, timeoutMs: number): void {
  // Not by the option `timeout`: Node before 22.16 does not know it, and would not wait at all.
  database.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!/locked|busy/i.test(String(error)) || Date.now() > end) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
