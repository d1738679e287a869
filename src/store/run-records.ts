import type { Database } from './database.ts';
import { applyRun, insertRun } from './sqlite-answers.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { isEnded, type RunRecord, type RunRecords } from './store.ts';

const LISTED = "SELECT json_remove(json_replace(record, '$.output', NULL), '$.waiting.call') AS record FROM runs";

/** Run records in SQLite; the events that tell of a change are written in the same transaction as the change. */
export function createRunRecords(database: Database, journal: SqliteJournal): RunRecords {
  return {
    async insert(run, events, durability = 'full') {
      database.write(durability, () => {
        insertRun(database, run);
        journal.add(events);
      });
    },
    async settle(run, events) {
      return database.write('full', () => {
        if (!applyRun(database, { kind: 'settle', record: run })) return false;
        journal.add(events);
        return true;
      });
    },
    async update(run, events) {
      // What is on the way is not waited for on the disk: after a power cut the run is as dead in any of these states, and
      // the flush of its end carries all that went before.
      return database.write(isEnded(run.state) ? 'full' : 'later', () => {
        // An end is final: a late writer (a sweep, a cancel) never overwrites what the run itself recorded.
        const { changes } = database
          .prepare(
            "UPDATE runs SET state = ?, record = ? WHERE id = ? AND state NOT IN ('success', 'failed', 'timeout')",
          )
          .run(run.state, JSON.stringify(run), run.id);
        if (Number(changes) !== 1) return false;
        journal.add(events);
        return true;
      });
    },
    async get(id) {
      return parse(database.prepare('SELECT record FROM runs WHERE id = ?').get(id));
    },
    async list({ states, limit }) {
      const rows =
        states === null
          ? database.prepare(`${LISTED} ORDER BY created_at DESC, id DESC LIMIT ?`).all(limit)
          : database
              .prepare(
                `${LISTED} WHERE state IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC, id DESC LIMIT ?`,
              )
              .all(JSON.stringify(states), limit);
      return rows.flatMap(row => parse(row) ?? []);
    },
    async find(prefix) {
      const rows = database
        .prepare('SELECT id FROM runs WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 10')
        .all(prefix.length, prefix);
      return rows.map(row => String(row.id));
    },
    async requestCancel(id, events) {
      return database.write('full', () => {
        const { changes } = database.prepare('UPDATE runs SET cancel_requested = 1 WHERE id = ?').run(id);
        if (Number(changes) !== 1) return false;
        journal.add(events);
        return true;
      });
    },
    async isCancelRequested(id) {
      return database.prepare('SELECT cancel_requested AS asked FROM runs WHERE id = ?').get(id)?.asked === 1;
    },
  };
}

function parse(row: Record<string, unknown> | undefined): RunRecord | null {
  return typeof row?.record === 'string' ? (JSON.parse(row.record) as RunRecord) : null;
}
