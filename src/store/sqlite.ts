import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { errnoOf, SkillboxError, useWal } from '../base/index.ts';
import { isEnded, type RunRecord, type RunRecords } from './store.ts';

/** Forward only; the position in the list is the version of the schema (`user_version`). */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
     id TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     state TEXT NOT NULL,
     cancel_requested INTEGER NOT NULL DEFAULT 0,
     record TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX runs_by_time ON runs (created_at DESC, id DESC);
   CREATE INDEX runs_by_state ON runs (state, created_at DESC);`,
];

const LISTED = "SELECT json_replace(record, '$.output', NULL) AS record FROM runs";
const BUSY_TIMEOUT_MS = 10_000;

export type SqliteRecords = RunRecords & { close(): void };

/** Records in one SQLite file. Several processes may share it: WAL, and every write is one short transaction. */
export function openSqlite(path: string): SqliteRecords {
  makePrivate(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  // FULL: an answered write survives a crash of the machine, not only of the process.
  useWal(database, BUSY_TIMEOUT_MS);
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
  migrate(database);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  const write = (sql: string, ...values: (string | number)[]): number => {
    try {
      return Number(prepare(sql).run(...values).changes);
    } catch (cause) {
      throw translate(cause, path);
    }
  };
  return {
    async insert(run) {
      database.exec('PRAGMA synchronous = FULL');
      write(
        'INSERT INTO runs (id, created_at, state, record) VALUES (?, ?, ?, ?)',
        run.id,
        run.createdAt,
        run.state,
        JSON.stringify(run),
      );
    },
    async update(run) {
      // What is on the way is not waited for on the disk: after a power cut the run is as dead in any of these states, and
      // the flush of its end carries all that went before.
      database.exec(`PRAGMA synchronous = ${isEnded(run.state) ? 'FULL' : 'NORMAL'}`);
      // An end is final: a late writer (a sweep, a cancel) never overwrites what the run itself recorded.
      const changes = write(
        "UPDATE runs SET state = ?, record = ? WHERE id = ? AND state NOT IN ('success', 'failed', 'timeout')",
        run.state,
        JSON.stringify(run),
        run.id,
      );
      return changes === 1;
    },
    async get(id) {
      return parse(prepare('SELECT record FROM runs WHERE id = ?').get(id));
    },
    async list({ states, limit }) {
      const rows =
        states === null
          ? prepare(`${LISTED} ORDER BY created_at DESC, id DESC LIMIT ?`).all(limit)
          : prepare(
              `${LISTED} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC, id DESC LIMIT ?`,
            ).all(JSON.stringify(states), limit);
      return rows.flatMap(row => parse(row) ?? []);
    },
    async find(prefix) {
      const rows = prepare('SELECT id FROM runs WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 10').all(
        prefix.length,
        prefix,
      );
      return rows.map(row => String(row.id));
    },
    async requestCancel(id) {
      write('UPDATE runs SET cancel_requested = 1 WHERE id = ?', id);
    },
    async isCancelRequested(id) {
      return prepare('SELECT cancel_requested AS asked FROM runs WHERE id = ?').get(id)?.asked === 1;
    },
    close: () => database.close(),
  };
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

function parse(row: Record<string, unknown> | undefined): RunRecord | null {
  return typeof row?.record === 'string' ? (JSON.parse(row.record) as RunRecord) : null;
}
