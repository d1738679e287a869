import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { RunRecord, RunRecords } from './store.ts';

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

const BUSY_TIMEOUT_MS = 10_000;

export type SqliteRecords = RunRecords & { close(): void };

/** Records in one SQLite file. Several processes may share it: WAL, and every write is one short transaction. */
export function openSqlite(path: string): SqliteRecords {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  // FULL: an answered write survives a crash of the machine, not only of the process.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
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
  return {
    async insert(run) {
      prepare('INSERT INTO runs (id, created_at, state, record) VALUES (?, ?, ?, ?)').run(
        run.id,
        run.createdAt,
        run.state,
        JSON.stringify(run),
      );
    },
    async update(run) {
      // An end is final: a late writer (a sweep, a cancel) never overwrites what the run itself recorded.
      const { changes } = prepare(
        "UPDATE runs SET state = ?, record = ? WHERE id = ? AND state NOT IN ('success', 'failed', 'timeout')",
      ).run(run.state, JSON.stringify(run), run.id);
      return Number(changes) === 1;
    },
    async get(id) {
      return parse(prepare('SELECT record FROM runs WHERE id = ?').get(id));
    },
    async list({ states, limit }) {
      const rows =
        states === null
          ? prepare('SELECT record FROM runs ORDER BY created_at DESC, id DESC LIMIT ?').all(limit)
          : prepare(
              'SELECT record FROM runs WHERE state IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC, id DESC LIMIT ?',
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
      prepare('UPDATE runs SET cancel_requested = 1 WHERE id = ?').run(id);
    },
    async isCancelRequested(id) {
      return prepare('SELECT cancel_requested AS asked FROM runs WHERE id = ?').get(id)?.asked === 1;
    },
    close: () => database.close(),
  };
}

/** Under SQLite's own write lock, so that processes that start at once migrate once. */
function migrate(database: DatabaseSync): void {
  const version = () => Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
  if (version() >= MIGRATIONS.length) return;
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

function parse(row: Record<string, unknown> | undefined): RunRecord | null {
  return typeof row?.record === 'string' ? (JSON.parse(row.record) as RunRecord) : null;
}
