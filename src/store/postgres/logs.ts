import { SkillboxError } from '../../base/index.ts';
import { MAX_FRAME_BYTES, MAX_PIECE_BYTES, readFrames, writeFrames } from '../log-frames.ts';
import type { LogEntry, RunLog, RunLogs } from '../logs.ts';
import type { Postgres } from './database.ts';

/** What is printed is kept in rows of this size, or of what came within so long: not every word is a round trip. */
const ROW_BYTES = 256 * 1024;
const EVERY_MS = 100;

/** Logs in PostgreSQL, so that any process can follow a run, whoever has it. A row says where in the log it begins. */
export function createLogRows(database: Postgres): RunLogs {
  return {
    async create({ id, attempt }) {
      const begun = await database.write('later', async session => {
        await session.change('DELETE FROM run_logs WHERE run = $1 AND attempt < $2', [id, attempt]);
        await session.change('DELETE FROM run_log_rows WHERE run = $1 AND attempt < $2', [id, attempt]);
        return session.change('INSERT INTO run_logs (run, attempt) VALUES ($1, $2) ON CONFLICT (run) DO NOTHING', [
          id,
          attempt,
        ]);
      });
      if (begun !== 1) throw new SkillboxError('UNWRITABLE', `the log of the run ${id} is there already`);
      return new LogRows(database, id, attempt);
    },
    async read(id, offset, maxBytes) {
      const rows = await database.rows(
        `SELECT begins, frames FROM run_log_rows WHERE run = $1 AND begins + length(frames) > $2
         ORDER BY begins LIMIT $3`,
        [id, offset, Math.max(1, Math.ceil(maxBytes / ROW_BYTES))],
      );
      const entries: LogEntry[] = [];
      let at = offset;
      for (const row of rows) {
        const frames = row.frames as Buffer; // a bytea column
        const from = at - Number(row.begins);
        const part = frames.subarray(from, Math.max(from + maxBytes, from + MAX_FRAME_BYTES));
        const read = readFrames(part);
        entries.push(...read.entries);
        at += read.bytes;
        if (at - offset >= maxBytes || read.bytes < part.length) break;
      }
      return { entries, offset: at };
    },
    async remove(ids) {
      await database.write('later', async session => {
        await session.change('DELETE FROM run_log_rows WHERE run = ANY ($1)', [ids]);
        await session.change('DELETE FROM run_logs WHERE run = ANY ($1)', [ids]);
      });
    },
  };
}

class LogRows implements RunLog {
  readonly #database: Postgres;
  readonly #run: string;
  readonly #attempt: number;
  #waiting: Buffer[] = [];
  #begins = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #fault: unknown = null;
  #isClosed = false;
  bytes = 0;

  constructor(database: Postgres, run: string, attempt: number) {
    this.#database = database;
    this.#run = run;
    this.#attempt = attempt;
  }

  write(stream: LogEntry['stream'], bytes: Buffer): void {
    this.#throwFault();
    if (this.#isClosed) throw this.#refusal(new Error('it is closed'));
    const now = Date.now();
    for (let at = 0; at < bytes.length; at += MAX_PIECE_BYTES)
      this.#waiting.push(writeFrames(stream, bytes.subarray(at, at + MAX_PIECE_BYTES), now));
    this.bytes += bytes.length;
    this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#flush();
    await this.#writing;
    this.#throwFault();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    // A row holds whole frames: whoever reads one can read all of it.
    let row: Buffer[] = [];
    let length = 0;
    for (const frame of this.#waiting.splice(0)) {
      if (length + frame.length > ROW_BYTES) {
        this.#add(Buffer.concat(row));
        [row, length] = [[], 0];
      }
      row.push(frame);
      length += frame.length;
    }
    if (length > 0) this.#add(Buffer.concat(row));
  }

  #add(frames: Buffer): void {
    const begins = this.#begins;
    this.#begins += frames.length;
    this.#writing = this.#writing.then(async () => {
      if (this.#fault !== null) return;
      try {
        const added = await this.#database.change(
          `INSERT INTO run_log_rows (run, attempt, begins, frames)
           SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM run_logs WHERE run = $1 AND attempt = $2)`,
          [this.#run, this.#attempt, begins, frames],
        );
        if (added !== 1) throw new Error('the run goes on under another attempt');
      } catch (error) {
        this.#fault = error;
      }
    });
  }

  #throwFault(): void {
    if (this.#fault !== null) throw this.#refusal(this.#fault);
  }

  #refusal(cause: unknown): SkillboxError {
    return new SkillboxError('UNWRITABLE', `cannot write the log of the run ${this.#run}`, { cause });
  }
}
