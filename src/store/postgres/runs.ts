import type { RunChange } from '../answers.ts';
import { without } from '../run-records.ts';
import { isEnded, keptBytes, type RunQuery, type RunRecord, type RunRecords } from '../store.ts';
import type { Postgres, Row, Session, Value } from './database.ts';
import type { PostgresJournal } from './journal.ts';

const ENDED = "state IN ('success', 'failed', 'timeout')";
const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC';

/** Run records in PostgreSQL; the events that tell of a change are written in the same transaction as the change. */
export function createRunRecords(database: Postgres, journal: PostgresJournal): RunRecords {
  return {
    insert: (run, events, durability = 'full') =>
      database.write(durability, async session => {
        await insertRun(session, run);
        await journal.add(session, events);
      }),
    settle: (run, events) =>
      database.write('full', async session => {
        if (!(await applyRun(session, { kind: 'settle', record: run }))) return false;
        await journal.add(session, events);
        return true;
      }),
    update: (run, events, durability = isEnded(run.state) ? 'full' : 'later') =>
      database.write(durability, async session => {
        // An end is final, and whoever was taken for dead writes with an attempt that is over.
        const changed = await session.change(
          `UPDATE runs SET state = $3, bytes = $4, record = $5, output = $6, call = $7
           WHERE id = $1 AND attempt = $2 AND state NOT IN ('success', 'failed', 'timeout')`,
          [run.id, run.attempt, run.state, keptBytes(run), ...partsOf(run)],
        );
        if (changed !== 1) return false;
        await journal.add(session, events);
        return true;
      }),
    async get(tenant, id) {
      const [row] = await database.rows('SELECT record, output, call FROM runs WHERE id = $1 AND tenant = $2', [
        id,
        tenant ?? '',
      ]);
      return row === undefined ? null : whole(row);
    },
    async list(tenant, query) {
      const { where, values } = toSql(query, 3);
      const rows = await database.rows(`SELECT record FROM runs WHERE tenant = $1 ${where} ${NEWEST_FIRST} LIMIT $2`, [
        tenant ?? '',
        query.limit,
        ...values,
      ]);
      return rows.map(listed);
    },
    async find(tenant, prefix) {
      const rows = await database.rows(
        'SELECT id FROM runs WHERE tenant = $1 AND starts_with(id, $2) ORDER BY id LIMIT 10',
        [tenant ?? '', prefix],
      );
      return rows.map(row => String(row.id));
    },
    requestCancel: (tenant, id, events) =>
      database.write('full', async session => {
        const changed = await session.change(
          `UPDATE runs SET cancel_requested = true
           WHERE id = $1 AND tenant = $2 AND state NOT IN ('success', 'failed', 'timeout')`,
          [id, tenant ?? ''],
        );
        if (changed !== 1) return false;
        await journal.add(session, events);
        return true;
      }),
    async isCancelRequested(id) {
      const [row] = await database.rows('SELECT cancel_requested FROM runs WHERE id = $1', [id]);
      return row?.cancel_requested === true;
    },
    async listOfAllTenants(states, limit) {
      const rows = await database.rows(`SELECT record FROM runs WHERE state = ANY ($1) ${NEWEST_FIRST} LIMIT $2`, [
        states,
        limit,
      ]);
      return rows.map(listed);
    },
    async listOldOfAllTenants(madeBefore, limit) {
      const rows = await database.rows(
        `SELECT id FROM runs WHERE created_at < $1 AND ${ENDED} ORDER BY created_at, id LIMIT $2`,
        [madeBefore, limit],
      );
      return rows.map(row => String(row.id));
    },
    async listKeepingOfAllTenants(madeBefore, after, limit) {
      const rows = await database.rows(
        `SELECT record FROM runs WHERE bytes > 0 AND created_at < $1 AND ${ENDED} AND id > $2 ORDER BY id LIMIT $3`,
        [madeBefore, after ?? '', limit],
      );
      return rows.map(listed);
    },
    forgetOfAllTenants: (ids, what) =>
      database.write('later', async session => {
        const rows = await session.rows(
          `SELECT record, output, call FROM runs WHERE id = ANY ($1) AND ${ENDED} ORDER BY id FOR UPDATE`,
          [ids],
        );
        for (const row of rows) {
          const left = without(whole(row), what);
          const [record] = partsOf(left);
          await session.change('UPDATE runs SET bytes = $2, record = $3 WHERE id = $1', [
            left.id,
            keptBytes(left),
            record,
          ]);
        }
      }),
    removeOfAllTenants: ids =>
      database.write('full', async session => {
        await session.change(`DELETE FROM runs WHERE id = ANY ($1) AND ${ENDED}`, [ids]);
      }),
    async *blobsOfAllTenants() {
      const view = await database.openView();
      try {
        for (let last = ''; ; ) {
          const rows = await view.rows('SELECT id, record FROM runs WHERE id > $1 ORDER BY id LIMIT 500', [last]);
          for (const { artifacts, archive } of rows.map(listed)) {
            yield* artifacts.map(({ sha256 }) => sha256);
            if (archive !== null) yield archive.sha256;
          }
          if (rows.length === 0) return;
          last = String(rows.at(-1)?.id);
        }
      } finally {
        await view.close();
      }
    },
  };
}

/** Inside a transaction: the whole record, where it is still as said and under this attempt. */
export async function replaceRun(session: Session, run: RunRecord, where: string, attempt: number): Promise<boolean> {
  const changed = await session.change(
    `UPDATE runs SET state = $3, attempt = $4, bytes = $5, record = $6, output = $7, call = $8
     WHERE id = $1 AND attempt = $2 AND ${where}`,
    [run.id, attempt, run.state, run.attempt, keptBytes(run), ...partsOf(run)],
  );
  return changed === 1;
}

/** Inside a transaction. False when the run does not wait, or waits no more. */
export async function applyRun(session: Session, { kind, record }: RunChange): Promise<boolean> {
  if (kind === 'insert') {
    await insertRun(session, record);
    return true;
  }
  const changed = await session.change(
    `UPDATE runs SET state = $3, bytes = $4, record = $5, output = $6, call = $7
     WHERE id = $1 AND tenant = $2 AND state = 'waiting'`,
    [record.id, record.tenant ?? '', record.state, keptBytes(record), ...partsOf(record)],
  );
  return changed === 1;
}

export async function insertRun(session: Session, run: RunRecord): Promise<void> {
  await session.change(
    `INSERT INTO runs (id, tenant, skill, created_at, state, attempt, bytes, record, output, call)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [run.id, run.tenant ?? '', run.skill.name, run.createdAt, run.state, run.attempt, keptBytes(run), ...partsOf(run)],
  );
}

/** The record without what may be large, that is its output and the call that it waits with; then these two. */
function partsOf(run: RunRecord): [string, string | null, string | null] {
  const { output, waiting } = run;
  const record = { ...run, output: null, waiting: waiting === null ? null : { ...waiting, call: null } };
  return [
    JSON.stringify(record),
    output === null ? null : JSON.stringify(output),
    waiting === null ? null : JSON.stringify(waiting.call),
  ];
}

export function whole(row: Row): RunRecord {
  const record = JSON.parse(String(row.record)) as RunRecord;
  if (row.output !== null) record.output = JSON.parse(String(row.output)) as RunRecord['output'];
  if (record.waiting !== null && row.call !== null) record.waiting.call = JSON.parse(String(row.call));
  return record;
}

function listed(row: Row): RunRecord {
  const record = JSON.parse(String(row.record)) as RunRecord;
  if (record.waiting !== null) Reflect.deleteProperty(record.waiting, 'call');
  return record;
}

/** The query as conditions beside the tenant, on the values from `$first` on. */
function toSql({ states, skill, since, after }: RunQuery, first: number): { where: string; values: Value[] } {
  const parts: [string, Value[]][] = [];
  if (states !== null) parts.push(['state = ANY (?)', [states]]);
  if (skill !== null) parts.push(['skill = ?', [skill]]);
  if (since !== null) parts.push(['created_at >= ?', [since]]);
  if (after !== null) parts.push(['(created_at, id) < (?, ?)', [after.createdAt, after.id]]);
  let at = first;
  const where = parts.map(([sql]) => `AND ${sql.replaceAll('?', () => `$${at++}`)}`);
  return { where: where.join(' '), values: parts.flatMap(([, values]) => values) };
}
