import type { Admission, Admitted, RunEntry, RunKey, RunQueue, RunQuotas } from '../queue.ts';
import type { RunRecord } from '../store.ts';
import type { Postgres, Session } from './database.ts';
import type { PostgresJournal } from './journal.ts';
import { insertRun, replaceRun, whole } from './runs.ts';

const ON_THE_WAY = "state IN ('preparing', 'running', 'collecting')";

/** The queue in PostgreSQL. Who begins, waits or is taken is decided by one transaction at a time, whatever processes there are. */
export function createRunQueue(database: Postgres, journal: PostgresJournal): RunQueue {
  const write = async (session: Session, { record, events }: RunEntry, key: RunKey | null): Promise<void> => {
    await insertRun(session, record);
    if (key !== null) await keep(session, record, key);
    await journal.add(session, events);
  };
  const change = (run: RunRecord, where: string, attempt: number, events: RunEntry['events']) =>
    database.write('full', async session => {
      if (!(await replaceRun(session, run, where, attempt))) return false;
      await journal.add(session, events);
      return true;
    });
  return {
    findKey: (tenant, key) => findKey(database, tenant, key),
    record: (entry, key, mostWaiting) =>
      database.write('full', async session => {
        await lock(session);
        const { tenant, state } = entry.record;
        if (key !== null && (await findKey(session, tenant, key)) !== null) return 'taken';
        if (state === 'waiting' && (await countWaiting(session, tenant)) >= mostWaiting) return 'full';
        await write(session, entry, key);
        return 'written';
      }),
    // On the disk before it is answered: what was accepted is not lost by a power cut either.
    admit: admission =>
      database.write('full', async session => {
        await lock(session);
        const admitted = await judge(session, admission);
        if (admitted === 'begun') await write(session, admission.begin, admission.key);
        if (admitted === 'queued') await write(session, admission.queue, admission.key);
        return admitted;
      }),
    async claim(owner, defaults, last) {
      // Most of the time there is nobody, and looking costs no lock.
      if ((await nextInLine(database, defaults, last)) === null) return null;
      return database.write('later', async session => {
        await lock(session);
        const id = await nextInLine(session, defaults, last);
        if (id === null) return null;
        const [row] = await session.rows('SELECT record, output, call FROM runs WHERE id = $1 FOR UPDATE', [id]);
        if (row === undefined) return null;
        const record: RunRecord = { ...whole(row), state: 'preparing', owner };
        return (await replaceRun(session, record, "state = 'queued'", record.attempt)) ? record : null;
      });
    },
    requeue: (run, events) =>
      change({ ...run, state: 'queued', attempt: run.attempt + 1 }, "state = 'preparing'", run.attempt, events),
    leave: (run, events) => change(run, "state = 'queued'", run.attempt, events),
    async usage(tenant) {
      const [row] = await database.rows(
        `SELECT (SELECT count(*) FROM runs WHERE tenant = $1 AND ${ON_THE_WAY}) AS running,
           (SELECT count(*) FROM runs WHERE tenant = $1 AND state = 'queued') AS queued,
           (SELECT coalesce(sum(bytes), 0)::bigint FROM runs WHERE tenant = $1 AND bytes > 0) AS bytes`,
        [tenant ?? ''],
      );
      return { running: Number(row?.running), queued: Number(row?.queued), storageBytes: Number(row?.bytes) };
    },
    async lengthOfAllTenants() {
      const [row] = await database.rows(
        `SELECT (SELECT count(*) FROM runs WHERE ${ON_THE_WAY}) AS running,
           (SELECT count(*) FROM runs WHERE state = 'queued') AS queued`,
      );
      return { running: Number(row?.running), queued: Number(row?.queued) };
    },
    async forgetKeys(before) {
      await database.change('DELETE FROM idempotency WHERE created_at < $1', [before]);
    },
    async beat({ id, owner, seenAt }) {
      await database.change(
        `INSERT INTO instances (id, owner, seen_at) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, seen_at = excluded.seen_at`,
        [id, owner, seenAt],
      );
    },
    async instances() {
      const rows = await database.rows('SELECT id, owner, seen_at FROM instances ORDER BY id');
      return rows.map(row => ({ id: String(row.id), owner: String(row.owner), seenAt: Number(row.seen_at) }));
    },
    async forgetInstances(which) {
      if ('id' in which) await database.change('DELETE FROM instances WHERE id = $1', [which.id]);
      else await database.change('DELETE FROM instances WHERE seen_at < $1', [which.seenBefore]);
    },
  };
}

type Asked = Pick<Session, 'rows'>;

/** Two numbers, so that it is none of the journal's locks, which are one; the second is of this schema. */
async function lock(session: Session): Promise<void> {
  await session.rows("SELECT pg_advisory_xact_lock(1936747617, hashtext(current_schema() || '/queue'))");
}

async function countWaiting(asked: Asked, tenant: string | null): Promise<number> {
  const [row] = await asked.rows("SELECT count(*) AS waiting FROM runs WHERE tenant = $1 AND state = 'waiting'", [
    tenant ?? '',
  ]);
  return Number(row?.waiting);
}

async function judge(
  asked: Asked,
  { begin, hasRoom, quotas, defaults, queueLimit, key }: Admission,
): Promise<Admitted> {
  const { tenant } = begin.record;
  if (key !== null && (await findKey(asked, tenant, key)) !== null) return 'taken';
  const [row] = await asked.rows(
    `SELECT (SELECT count(*) FROM runs WHERE tenant = $1 AND ${ON_THE_WAY}) AS running,
       (SELECT count(*) FROM runs WHERE tenant = $1 AND state = 'queued') AS queued,
       (SELECT count(*) FROM runs WHERE state = 'queued') AS everybodys`,
    [tenant ?? ''],
  );
  if (hasRoom && Number(row?.running) < quotas.running && (await nextInLine(asked, defaults, null)) === null)
    return 'begun';
  return Number(row?.queued) < quotas.queued && Number(row?.everybodys) < queueLimit ? 'queued' : 'full';
}

/** Each step finds the next tenant in the index, however many runs the one before has in line. */
const NEXT = `
  WITH RECURSIVE line (tenant) AS (
    SELECT min(tenant) FROM runs WHERE state = 'queued'
    UNION ALL
    SELECT (SELECT min(tenant) FROM runs WHERE state = 'queued' AND tenant > line.tenant)
    FROM line WHERE line.tenant IS NOT NULL
  ), counted AS (
    SELECT line.tenant, (tenants.quotas::json ->> 'running')::bigint AS most,
      (SELECT count(*) FROM runs WHERE runs.tenant = line.tenant AND ${ON_THE_WAY}) AS running
    FROM line LEFT JOIN tenants ON tenants.name = line.tenant
    WHERE line.tenant IS NOT NULL AND tenants.disabled_at IS NULL
  )
  SELECT head.id FROM counted
  CROSS JOIN LATERAL (
    SELECT id, created_at FROM runs WHERE state = 'queued' AND runs.tenant = counted.tenant
    ORDER BY created_at, id LIMIT 1
  ) AS head
  WHERE running < coalesce(most, $1)
  ORDER BY running, counted.tenant <= $2::text, CASE WHEN $2::text IS NOT NULL THEN counted.tenant END, head.created_at, head.id
  LIMIT 1`;

async function nextInLine(asked: Asked, defaults: RunQuotas, last: string | null): Promise<string | null> {
  const [row] = await asked.rows(NEXT, [defaults.running, last]);
  return row === undefined ? null : String(row.id);
}

async function findKey(
  asked: Asked,
  tenant: string | null,
  { key, since }: Pick<RunKey, 'key' | 'since'>,
): Promise<{ fingerprint: string; run: string } | null> {
  const [row] = await asked.rows(
    'SELECT fingerprint, run FROM idempotency WHERE tenant = $1 AND key = $2 AND created_at >= $3',
    [tenant ?? '', key, since],
  );
  return row === undefined ? null : { fingerprint: String(row.fingerprint), run: String(row.run) };
}

async function keep(session: Session, { tenant, id, createdAt }: RunRecord, key: RunKey): Promise<void> {
  await session.change(
    `INSERT INTO idempotency (tenant, key, fingerprint, run, created_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (tenant, key) DO UPDATE
     SET fingerprint = excluded.fingerprint, run = excluded.run, created_at = excluded.created_at`,
    [tenant ?? '', key.key, key.fingerprint, id, createdAt],
  );
}
