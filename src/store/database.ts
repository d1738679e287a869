import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { errnoOf, SkillboxError, useWal } from '../base/index.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Durability } from './store.ts';
import { WalFlush } from './wal-flush.ts';

/** How long a write waits for those of others. */
export const BUSY_TIMEOUT_MS = 10_000;

/** One SQLite file. Several processes may share it: WAL, and every write is one short transaction. */
export class Database {
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #flush: WalFlush;

  constructor(path: string, busyTimeoutMs: number) {
    makePrivate(path);
    this.#path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#database = new DatabaseSync(path);
    useWal(this.#database, busyTimeoutMs);
    migrate(this.#database);
    // No flush within a commit: who needs one waits for `#flush`.
    this.#database.exec('PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;');
    this.#flush = new WalFlush(path);
  }

  /** The statement for the text, prepared once. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /**
   * All of the body or nothing, as one transaction, at once; then, where it must outlast a crash of the machine, the flush. It
   * has the only write lock from its beginning, so what it reads holds until it is committed, whoever else writes.
   */
  async write<T>(durability: Durability, body: () => T): Promise<T> {
    if (durability === 'full' && this.#flush.fault !== null) throw this.#unkept(this.#flush.fault.cause);
    const answer = this.#transact(body);
    if (durability === 'full') await this.#flushed();
    return answer;
  }

  /** Everything as it is now, for long reads; it neither waits for writers nor holds them up. Close it. */
  openView(): DatabaseSync {
    const view = new DatabaseSync(this.#path, { readOnly: true });
    view.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}; BEGIN`);
    return view;
  }

  /** Throws UNWRITABLE when it cannot be written just now. Nothing is: the lock is all that is asked for. */
  check(): void {
    if (this.#flush.fault !== null) throw this.#unkept(this.#flush.fault.cause);
    this.#transact(() => undefined);
  }

  close(): void {
    this.#flush.close();
    this.#database.close();
  }

  #transact<T>(body: () => T): T {
    try {
      this.prepare('BEGIN IMMEDIATE').run();
    } catch (cause) {
      throw translate(cause, this.#path);
    }
    try {
      const answer = body();
      this.prepare('COMMIT').run();
      return answer;
    } catch (cause) {
      this.#rollBack();
      throw translate(cause, this.#path);
    }
  }

  async #flushed(): Promise<void> {
    try {
      await this.#flush.flush();
    } catch (cause) {
      throw this.#unkept(cause);
    }
  }

  #unkept(cause: unknown): SkillboxError {
    return new SkillboxError('UNWRITABLE', `cannot bring ${this.#path} to the disk`, {
      hint: 'Look after the disk, then start Skillbox anew.',
      cause,
    });
  }

  #rollBack(): void {
    try {
      this.prepare('ROLLBACK').run();
    } catch {
      // A full disk ends the transaction by itself; the fault that led here is the one to tell.
    }
  }
}

/** Made by us, because SQLite would make it readable for everyone whom the umask allows. */
function makePrivate(path: string): void {
  try {
    // Only ever a new file: closing a descriptor of one in use would drop this process's locks on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

/** Under SQLite's own write lock, so that processes that start at once migrate once. */
function migrate(database: DatabaseSync): void {
  const version = () => Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
  const found = version();
  if (found === MIGRATIONS.length) return;
  if (found > MIGRATIONS.length) {
    throw new SkillboxError('UNWRITABLE', `the store has version ${found}; this Skillbox knows ${MIGRATIONS.length}`, {
      hint: 'Use the newer Skillbox that made it, or another SKILLBOX_DATA_DIR.',
    });
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const sql of MIGRATIONS.slice(version())) database.exec(sql);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB: the file system's doing, not ours. */
const OUTER_FAULTS: readonly number[] = [5, 8, 10, 11, 13, 14, 26];

function translate(cause: unknown, path: string): unknown {
  const code = cause instanceof Error && 'errcode' in cause && typeof cause.errcode === 'number' ? cause.errcode : 0;
  // The low byte is the fault, what is above it says more about it.
  if (!(cause instanceof Error) || !OUTER_FAULTS.includes(code & 0xff)) return cause;
  return new SkillboxError('UNWRITABLE', `cannot write ${path}: ${cause.message}`, { cause });
}
