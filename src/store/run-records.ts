import { setImmediate as breathe } from 'node:timers/promises';
import type { Database } from './database.ts';
import { rowsOf } from './rows.ts';
import { applyRun, insertRun } from './sqlite-answers.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { isEnded, keptBytes, type RunQuery, type RunRecord, type RunRecords } from './store.ts';

const LISTED = "SELECT json_remove(json_replace(record, '$.output', NULL), '$.waiting.call') AS record FROM runs";
const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC LIMIT ?';
const ENDED = "state IN ('success', 'failed', 'timeout')";
/** Said wherever it is meant, so that SQLite sees that the index of such runs will do. */
export const OPEN = "state NOT IN ('success', 'failed', 'timeout')";
const IN_STATES = 'state IN (SELECT value FROM json_each(?))';

/** Run records in SQLite; the events that tell of a change are written in the same transaction as the change. */
export function createRunRecords(database: Database, journal: SqliteJournal): RunRecords {
  return {
    async insert(run, events, durability = 'full') {
      await database.write(durability, () => {
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
    // What is on the way is not waited for on the disk: after a power cut the run is as dead in any of these states, and
    // the flush of its end carries all that went before.
    async update(run, events, durability = isEnded(run.state) ? 'full' : 'later') {
      return database.write(durability, () => {
        // An end is final: a late writer (a sweep, a cancel) never overwrites what the run itself recorded. And whoever was
        // taken for dead writes with an attempt that is over.
        const { changes } = database
          .prepare(
            `UPDATE runs SET state = ?, bytes = ?, record = ?
             WHERE id = ? AND attempt = ? AND ${OPEN}`,
          )
          .run(run.state, keptBytes(run), JSON.stringify(run), run.id, run.attempt);
        if (Number(changes) !== 1) return false;
        journal.add(events);
        return true;
      });
    },
    async get(tenant, id) {
      return readRecord(database.prepare('SELECT record FROM runs WHERE id = ? AND tenant = ?').get(id, tenant ?? ''));
    },
    async list(tenant, query) {
      const { where, values } = toSql(query);
      const rows = database
        .prepare(`${LISTED} WHERE tenant = ? ${where} ${NEWEST_FIRST}`)
        .all(tenant ?? '', ...values, query.limit);
      return rows.flatMap(row => readRecord(row) ?? []);
    },
    async find(tenant, prefix) {
      const rows = database
        .prepare('SELECT id FROM runs WHERE tenant = ? AND substr(id, 1, ?) = ? ORDER BY id LIMIT 10')
        .all(tenant ?? '', prefix.length, prefix);
      return rows.map(row => String(row.id));
    },
    async requestCancel(tenant, id, events) {
      return database.write('full', () => {
        const { changes } = database
          .prepare(
            `UPDATE runs SET cancel_requested = 1
             WHERE id = ? AND tenant = ? AND state NOT IN ('success', 'failed', 'timeout')`,
          )
          .run(id, tenant ?? '');
        if (Number(changes) !== 1) return false;
        journal.add(events);
        return true;
      });
    },
    async isCancelRequested(id) {
      return database.prepare('SELECT cancel_requested AS asked FROM runs WHERE id = ?').get(id)?.asked === 1;
    },
    async listOfAllTenants(states, limit) {
      const open = states.some(isEnded) ? '' : `AND ${OPEN}`;
      const rows = database
        .prepare(`${LISTED} WHERE ${IN_STATES} ${open} ${NEWEST_FIRST}`)
        .all(JSON.stringify(states), limit);
      return rows.flatMap(row => readRecord(row) ?? []);
    },
    async listOldOfAllTenants(madeBefore, limit) {
      const rows = database
        .prepare(`SELECT id FROM runs WHERE created_at < ? AND ${ENDED} ORDER BY created_at, id LIMIT ?`)
        .all(madeBefore, limit);
      return rows.map(row => String(row.id));
    },
    async listKeepingOfAllTenants(madeBefore, after, limit) {
      const rows = database
        .prepare(`${LISTED} WHERE bytes > 0 AND created_at < ? AND ${ENDED} AND id > ? ORDER BY id LIMIT ?`)
        .all(madeBefore, after ?? '', limit);
      return rows.flatMap(row => readRecord(row) ?? []);
    },
    async forgetOfAllTenants(ids, what) {
      await database.write('later', () => {
        for (const id of ids) {
          const run = readRecord(database.prepare(`SELECT record FROM runs WHERE id = ? AND ${ENDED}`).get(id));
          if (run === null) continue;
          const left = without(run, what);
          database
            .prepare('UPDATE runs SET bytes = ?, record = ? WHERE id = ?')
            .run(keptBytes(left), JSON.stringify(left), id);
        }
      });
    },
    async removeOfAllTenants(ids) {
      await database.write('full', () => {
        database
          .prepare(`DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?)) AND ${ENDED}`)
          .run(JSON.stringify(ids));
      });
    },
    blobsOfAllTenants: () => namedBlobs(database),
  };
}

const EVERY = 1000;
const NAMED = `
  SELECT artifact.value ->> '$.sha256' AS sha256 FROM runs, json_each(runs.record, '$.artifacts') AS artifact
  UNION ALL SELECT record ->> '$.archive.sha256' FROM runs WHERE record ->> '$.archive.sha256' IS NOT NULL`;

/** On one moment of the database, and in steps: it may be long. */
async function* namedBlobs(database: Database): AsyncGenerator<string> {
  const view = database.openView();
  try {
    let seen = 0;
    for (const row of rowsOf(view, NAMED)) {
      yield String(row.sha256);
      if (++seen % EVERY === 0) await breathe();
    }
  } finally {
    view.close();
  }
}

/** The query as conditions beside the tenant, with their values. */
function toSql({ states, skill, since, after }: RunQuery): { where: string; values: (string | number)[] } {
  const parts: [string, (string | number)[]][] = [];
  if (states !== null) parts.push([IN_STATES, [JSON.stringify(states)]]);
  if (skill !== null) parts.push(['skill = ?', [skill]]);
  if (since !== null) parts.push(['created_at >= ?', [since]]);
  if (after !== null) parts.push(['(created_at, id) < (?, ?)', [after.createdAt, after.id]]);
  return { where: parts.map(([sql]) => `AND ${sql}`).join(' '), values: parts.flatMap(([, values]) => values) };
}

/** The record of a run that does not keep its log, or its artifacts, any longer. */
export function without(run: RunRecord, what: 'log' | 'artifacts'): RunRecord {
  if (what === 'log') return { ...run, logBytes: 0 };
  const warnings = [...run.warnings, 'its artifacts are not kept any longer'];
  return { ...run, artifacts: [], archive: null, warnings };
}

/** What records had not when they were written, before there were tenants. */
const EARLIER = { tenant: null, by: { id: 'unknown', channel: 'local' }, attempt: 0 };

/** null when there is none. */
export function readRecord(row: Record<string, unknown> | undefined): RunRecord | null {
  if (typeof row?.record !== 'string') return null;
  const record = JSON.parse(row.record) as RunRecord;
  return 'attempt' in record ? record : { ...EARLIER, ...(record as Omit<RunRecord, keyof typeof EARLIER>) };
}
