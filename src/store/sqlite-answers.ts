import type { AnswerChange, AnswerRow, AnswerRows, RunChange, Written } from './answers.ts';
import type { Database } from './database.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import type { RunRecord } from './store.ts';

const COLUMNS = 'id, binding, refusal, origin, created_at AS createdAt, body, mac';
/** As many as are ever looked at: the newest decide. */
const MAX_FOUND = 50;

/** Answers in SQLite. What they are worth is for whoever sealed them to say. */
export function createAnswerRows(database: Database, journal: SqliteJournal): AnswerRows {
  const select = (where: string, ...values: (string | number)[]): AnswerRow[] =>
    database
      .prepare(`SELECT ${COLUMNS} FROM answers ${where}`)
      .all(...values)
      .map(toRow);
  return {
    byBinding: async binding =>
      select(`WHERE binding = ? ORDER BY created_at DESC, id DESC LIMIT ${MAX_FOUND}`, binding),
    byOrigin: async origin => select(`WHERE origin = ? ORDER BY created_at DESC, id DESC LIMIT ${MAX_FOUND}`, origin),
    byIds: async ids => select('WHERE id IN (SELECT value FROM json_each(?))', JSON.stringify(ids)),
    list: async limit => select('ORDER BY created_at DESC, id DESC LIMIT ?', limit),
    async seal() {
      const row = database.prepare('SELECT version, body, mac FROM answers_seal').get();
      return row === undefined ? null : { version: Number(row.version), body: String(row.body), mac: String(row.mac) };
    },
    write: async change => database.write('full', () => writeChange(database, journal, change)),
    async clear(events) {
      database.write('full', () => {
        database.prepare('DELETE FROM answers').run();
        database.prepare('DELETE FROM answers_seal').run();
        journal.add(events);
      });
    },
  };
}

function writeChange(database: Database, journal: SqliteJournal, { rows, seal, run, events }: AnswerChange): Written {
  // First what may be refused: nothing has been written then, and there is nothing to take back.
  const { version } = database.prepare('SELECT max(version) AS version FROM answers_seal').get() ?? {};
  if (Number(version ?? 0) !== seal.version - 1) return 'stale';
  if (run !== null && !applyRun(database, run)) return 'settled';
  for (const { id, binding, refusal, origin, createdAt, body, mac } of rows) {
    database
      .prepare(
        'INSERT OR REPLACE INTO answers (id, binding, refusal, origin, created_at, body, mac) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(id, binding, refusal, origin, createdAt, body, mac);
  }
  database.prepare('DELETE FROM answers_seal').run();
  database
    .prepare('INSERT INTO answers_seal (version, body, mac) VALUES (?, ?, ?)')
    .run(seal.version, seal.body, seal.mac);
  journal.add(events);
  return 'written';
}

/** Inside a transaction. False when the run does not wait, or waits no more. */
export function applyRun(database: Database, { kind, record }: RunChange): boolean {
  if (kind === 'insert') {
    insertRun(database, record);
    return true;
  }
  const { changes } = database
    .prepare("UPDATE runs SET state = ?, record = ? WHERE id = ? AND state = 'waiting'")
    .run(record.state, JSON.stringify(record), record.id);
  return Number(changes) === 1;
}

export function insertRun(database: Database, run: RunRecord): void {
  database
    .prepare('INSERT INTO runs (id, created_at, state, record) VALUES (?, ?, ?, ?)')
    .run(run.id, run.createdAt, run.state, JSON.stringify(run));
}

function toRow(row: Record<string, unknown>): AnswerRow {
  return {
    id: String(row.id),
    binding: String(row.binding),
    refusal: String(row.refusal),
    origin: String(row.origin),
    createdAt: Number(row.createdAt),
    body: String(row.body),
    mac: String(row.mac),
  };
}
