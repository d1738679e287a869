import { SkillboxError, whileAway } from '../../base/index.ts';
import { piecesOf, writeFrames } from '../log-frames.ts';
import type { LogEntry, RunLog } from '../logs.ts';
import type { Postgres } from './database.ts';

/** What is printed is kept in rows of this size, or of what came within so long: not every word is a round trip. */
const ROW_BYTES = 256 * 1024;
const EVERY_MS = 150;
/** A database that is started anew is no reason to end a run; what it prints meanwhile waits. */
const PATIENCE_MS = 60_000;
/** A run that prints faster than the database takes it is ended before it fills the memory. */
const MAX_WAITING_BYTES = 64 * 1024 ** 2;

/** `onKept`: a row is there to be read. `onClosed`: everything is. */
type Told = { onKept: () => void; onClosed: () => void };

/** The log of a run that goes on, as rows. */
export class LogRows implements RunLog {
  readonly #database: Postgres;
  readonly #run: { id: string; attempt: number };
  readonly #told: Told;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #unwrittenBytes = 0;
  #begins = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #fault: unknown = null;
  #isClosed = false;
  bytes = 0;

  constructor(database: Postgres, run: { id: string; attempt: number }, told: Told) {
    this.#database = database;
    this.#run = run;
    this.#told = told;
  }

  write(stream: LogEntry['stream'], bytes: Buffer): void {
    this.#throwFault();
    if (this.#isClosed) throw this.#refusal(new Error('it is closed'));
    if (this.#unwrittenBytes > MAX_WAITING_BYTES)
      throw this.#refusal(new Error('the run prints faster than the database takes it'));
    const now = Date.now();
    for (const piece of piecesOf(bytes)) this.#hold(writeFrames(stream, piece, now));
    this.bytes += bytes.length;
    if (this.#waitingBytes > 0) this.#timer ??= setTimeout(() => this.#flush(), EVERY_MS);
  }

  async close(): Promise<void> {
    const isFirst = !this.#isClosed;
    this.#isClosed = true;
    this.#flush();
    await this.#writing;
    this.#throwFault();
    if (isFirst) this.#told.onClosed();
  }

  /** A row holds whole frames: whoever reads one can read all of it. */
  #hold(frame: Buffer): void {
    if (this.#waitingBytes + frame.length > ROW_BYTES) this.#flush();
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#unwrittenBytes += frame.length;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#waitingBytes === 0) return;
    const frames = Buffer.concat(this.#waiting);
    const begins = this.#begins;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#begins += frames.length;
    this.#writing = this.#writing.then(() => this.#add(begins, frames));
  }

  async #add(begins: number, frames: Buffer): Promise<void> {
    if (this.#fault !== null) return;
    const { id, attempt } = this.#run;
    try {
      // The row of the log stays locked until this one is kept: a later attempt waits for it, and then removes it.
      const added = await whileAway(PATIENCE_MS, () =>
        this.#database.write('later', session =>
          // The same row may be there already, where the answer was lost and not the change.
          session.change(
            `INSERT INTO run_log_rows (run, begins, frames)
             SELECT run, $3, $4 FROM run_logs WHERE run = $1 AND attempt = $2 AND sha256 IS NULL FOR SHARE
             ON CONFLICT (run, begins) DO UPDATE SET frames = excluded.frames`,
            [id, attempt, begins, frames],
          ),
        ),
      );
      if (added !== 1) throw new Error('it is closed, or the run goes on under another attempt');
      this.#unwrittenBytes -= frames.length;
      this.#told.onKept();
    } catch (error) {
      this.#fault = error;
    }
  }

  #throwFault(): void {
    if (this.#fault !== null) throw this.#refusal(this.#fault);
  }

  #refusal(cause: unknown): SkillboxError {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    return new SkillboxError('UNWRITABLE', `cannot write the log of the run ${this.#run.id}${why}`, { cause });
  }
}
