import type { Blobs } from '../blobs.ts';
import type { Postgres } from './database.ts';

type Log = { id: string; attempt: number };

/** How many rows are in memory on their way into a blob. */
const PAGE = 4;
const MAX_SWEPT = 500;

export type Sealing = {
  /** Soon, and without being waited for: it can be read as well where it is. */
  add(log: Log): void;
  sweep(): Promise<void>;
  close(): Promise<void>;
};

/** Logs on their way from rows into blobs, one after the other. What does not get there is swept later, by whomever. */
export function createSealing(database: Postgres, blobs: Blobs): Sealing {
  const waiting: Log[] = [];
  let working: Promise<void> | null = null;
  let isClosing = false;
  const work = async (): Promise<void> => {
    for (let log = waiting.shift(); log !== undefined && !isClosing; log = waiting.shift())
      await seal(database, blobs, log).catch(() => undefined); // it stays in its rows
    working = null;
  };
  return {
    add(log) {
      waiting.push(log);
      working ??= work();
    },
    async sweep() {
      const rows = await database.rows(
        `SELECT l.run, l.attempt FROM run_logs l JOIN runs r ON r.id = l.run
         WHERE l.sha256 IS NULL AND r.state IN ('success', 'failed', 'timeout') LIMIT $1`,
        [MAX_SWEPT],
      );
      for (const row of rows) {
        if (isClosing) return;
        await seal(database, blobs, { id: String(row.run), attempt: Number(row.attempt) });
      }
    },
    async close() {
      isClosing = true;
      await working;
    },
  };
}

async function seal(database: Postgres, blobs: Blobs, { id, attempt }: Log): Promise<void> {
  const { sha256, bytes } = await blobs.put(contentOf(database, id));
  await database.write('full', async session => {
    const sealed = await session.change(
      'UPDATE run_logs SET sha256 = $3, bytes = $4 WHERE run = $1 AND attempt = $2 AND sha256 IS NULL',
      [id, attempt, sha256, bytes],
    );
    if (sealed === 1) await session.change('DELETE FROM run_log_rows WHERE run = $1', [id]);
  });
}

async function* contentOf(database: Postgres, id: string): AsyncGenerator<Buffer> {
  for (let next = 0; ; ) {
    const rows = await database.rows(
      'SELECT begins, frames FROM run_log_rows WHERE run = $1 AND begins >= $2 ORDER BY begins LIMIT $3',
      [id, next, PAGE],
    );
    for (const { begins, frames } of rows) {
      if (!Buffer.isBuffer(frames)) continue;
      yield frames;
      next = Number(begins) + frames.length;
    }
    if (rows.length < PAGE) return;
  }
}
