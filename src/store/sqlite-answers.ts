import {
  ALWAYS,
  type AnswerChange,
  type AnswerRow,
  type AnswerRows,
  type RunChange,
  STANDING,
  type Written,
} from './answers.ts';
import type { Database } from './database.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { keptBytes, type RunRecord } from './store.ts';

const COLUMNS = 'id, binding, refusal, origin, created_at AS createdAt, body, mac';
/** As many as are ever looked at: the newest decide. */
const MAX_FOUND = 50;

/** Answers of one tenant in SQLite. What they are worth is for whoever sealed them to say. */
export function createAnswerRows(database: Database, journal: SqliteJournal, tenant: string | null): AnswerRows {
  const owner = tenant ?? '';
  const select = (where: string, ...values: (string | number)[]): AnswerRow[] =>
    database
      .prepare(`SELECT ${COLUMNS} FROM answers WHERE tenant = ? ${where}`)
      .all(owner, ...values)
      .map(toRow);
  return {
    byBinding: async binding =>
      select(
        `AND binding = ? ORDER BY instr(body, ?) > 0 DESC, created_at DESC, id DESC LIMIT ${MAX_FOUND}`,
        binding,
        ALWAYS,
      ),
    byOrigin: async origin => select(`AND origin = ? ORDER BY created_at DESC, id DESC LIMIT ${MAX_FOUND}`, origin),
    byIds: async ids => select('AND id IN (SELECT value FROM json_each(?))', JSON.stringify(ids)),
    isEmpty: async () => database.prepare('SELECT 1 FROM answers WHERE tenant = ? LIMIT 1').get(owner) === undefined,
    list: async limit => select('ORDER BY created_at DESC, id DESC LIMIT ?', limit),
    standing: async () =>
      select('AND (instr(body, ?) OR instr(body, ?)) ORDER BY created_at DESC, id DESC', ...STANDING),
    async seal() {
      const row = database.prepare('SELECT version, body, mac FROM answers_seal WHERE tenant = ?').get(owner);
      return row === undefined ? null : { version: Number(row.version), body: String(row.body), mac: String(row.mac) };
    },
    write: async change => database.write('full', () => writeChange(database, journal, owner, change)),
    async clear(events) {
      await database.write('full', () => {
        database.prepare('DELETE FROM answers WHERE tenant = ?').run(owner);
        database.prepare('DELETE FROM answers_seal WHERE tenant = ?').run(owner);
        journal.add(events);
      });
    },
  };
}

function writeChange(
  database: Database,
  journal: SqliteJournal,
  owner: string,
  { rows, seal, run, events }: AnswerChange,
): Written {
  // First what may be refused: nothing has been written then, and there is nothing to take back.
  const { version } = database.prepare('SELECT version FROM answers_seal WHERE tenant = ?').get(owner) ?? {};
  if (Number(version ?? 0) !== seal.version - 1) return 'stale';
  if (run !== null && !applyRun(database, run)) return 'settled';
  for (const { id, binding, refusal, origin, createdAt, body, mac } of rows) {
    database
      .prepare(
        `INSERT OR REPLACE INTO answers (tenant, id, binding, refusal, origin, created_at, body, mac)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(owner, id, binding, refusal, origin, createdAt, body, mac);
  }
  database.prepare('DELETE FROM answers_seal WHERE tenant = ?').run(owner);
  database
    .prepare('INSERT INTO answers_seal (tenant, version, body, mac) VALUES (?, ?, ?, ?)')
    .run(owner, seal.version, seal.body, seal.mac);
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
    .prepare("UPDATE runs SET state = ?, bytes = ?, record = ? WHERE id = ? AND tenant = ? AND state = 'waiting'")
    .run(record.state, keptBytes(record), JSON.stringify(record), record.id, record.tenant ?? '');
  return Number(changes) === 1;
}

export function insertRun(database: Database, run: RunRecord): void {
  database
    .prepare(
      'INSERT INTO runs (id, tenant, skill, created_at, state, attempt, bytes, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    .run(
      run.id,
      run.tenant ?? '',
      run.skill.name,
      run.createdAt,
      run.state,
      run.attempt,
      keptBytes(run),
      JSON.stringify(run),
    );
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
