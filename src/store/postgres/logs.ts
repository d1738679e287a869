import { SkillboxError } from '../../base/index.ts';
import type { Blobs } from '../blobs.ts';
import { MAX_FRAME_BYTES, readFrames } from '../log-frames.ts';
import type { RunLogs } from '../logs.ts';
import type { Postgres } from './database.ts';
import { createSealing } from './log-sealing.ts';
import { LogRows } from './log-writer.ts';

/** What a store does with its logs beside what runs and readers do. */
export type PostgresLogs = RunLogs & {
  /** Puts the logs of ended runs into blobs that nobody has put there yet. */
  sweep(): Promise<void>;
  /** When what is on its way into blobs has come there. */
  close(): Promise<void>;
};

/**
 * Logs in PostgreSQL, so that any process can follow a run, whoever has it. A row says where in the log it begins, and holds
 * whole frames. When a log is closed it goes into a blob, behind the back of whoever closed it.
 */
export function createLogRows(database: Postgres, blobs: Blobs): PostgresLogs {
  const sealing = createSealing(database, blobs);
  return {
    async create({ id, attempt }, onKept = () => {}) {
      const begun = await database.write('later', async session => {
        await session.change('DELETE FROM run_logs WHERE run = $1 AND attempt < $2', [id, attempt]);
        const made = await session.change(
          'INSERT INTO run_logs (run, attempt) VALUES ($1, $2) ON CONFLICT (run) DO NOTHING',
          [id, attempt],
        );
        // Whoever wrote to the earlier one has had its row locked until then, and finds it gone now.
        if (made === 1) await session.change('DELETE FROM run_log_rows WHERE run = $1', [id]);
        return made;
      });
      if (begun !== 1) throw new SkillboxError('UNWRITABLE', `the log of the run ${id} is there already`);
      return new LogRows(database, { id, attempt }, { onKept, onClosed: () => sealing.add({ id, attempt }) });
    },
    async read(id, offset, maxBytes) {
      const wanted = Math.max(maxBytes, MAX_FRAME_BYTES);
      // One statement, so that a log that is put into a blob meanwhile is found in one of the two places.
      const rows = await database.rows(
        `SELECT l.sha256, l.bytes, r.begins, r.frames FROM run_logs l LEFT JOIN run_log_rows r
           ON r.run = l.run AND r.begins < $3
           AND r.begins >= (SELECT max(begins) FROM run_log_rows WHERE run = $1 AND begins <= $2)
         WHERE l.run = $1 ORDER BY r.begins`,
        [id, offset, offset + wanted],
      );
      const [first] = rows;
      if (first === undefined) return { entries: [], offset };
      if (typeof first.sha256 === 'string') {
        const range = { start: offset, end: Math.min(offset + wanted, Number(first.bytes)) - 1 };
        return readFrames(range.end < offset ? Buffer.alloc(0) : await readBlob(blobs, first.sha256, range), offset);
      }
      // What begins before the offset is cut off; where there is nothing yet, there is one row without frames.
      const parts = rows.flatMap(({ frames }) => (Buffer.isBuffer(frames) ? [frames] : []));
      return readFrames(
        Buffer.concat(parts).subarray(offset - Number(first.begins), offset - Number(first.begins) + wanted),
        offset,
      );
    },
    async remove(ids) {
      await database.write('later', async session => {
        await session.change('DELETE FROM run_logs WHERE run = ANY ($1)', [ids]);
        await session.change('DELETE FROM run_log_rows WHERE run = ANY ($1)', [ids]);
      });
    },
    sweep: () => sealing.sweep(),
    close: () => sealing.close(),
  };
}

async function readBlob(blobs: Blobs, sha256: string, range: { start: number; end: number }): Promise<Buffer> {
  const content = await blobs.read(sha256, range);
  if (content === null)
    throw new SkillboxError('UNREADABLE', `the blob ${sha256} is gone, and a log with it`, {
      hint: 'Something removed it from the blobs of the store; bring it back from a copy.',
    });
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
