import type { Database } from './database.ts';
import type { Admission, Admitted, RunEntry, RunKey, RunQueue, RunQuotas } from './queue.ts';
import { OPEN, readRecord } from './run-records.ts';
import { insertRun } from './sqlite-answers.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { keptBytes, type RunRecord } from './store.ts';

const ON_THE_WAY = `state IN ('preparing', 'running', 'collecting') AND ${OPEN}`;
const QUEUED = `state = 'queued' AND ${OPEN}`;
const WAITING = `state = 'waiting' AND ${OPEN}`;

/** The queue in SQLite: rows of `runs` that are found by an index of those that have not ended. */
export function createRunQueue(database: Database, journal: SqliteJournal): RunQueue {
  const write = ({ record, events }: RunEntry, key: RunKey | null): void => {
    insertRun(database, record);
    if (key !== null) keep(database, record, key);
    journal.add(events);
  };
  return {
    findKey: async (tenant, key) => findKey(database, tenant, key),
    record: async (entry, key, mostWaiting) =>
      await database.write('full', () => {
        const { tenant, state } = entry.record;
        if (key !== null && findKey(database, tenant, key) !== null) return 'taken';
        if (state === 'waiting' && countOf(database, WAITING, tenant) >= mostWaiting) return 'full';
        write(entry, key);
        return 'written';
      }),
    // On the disk before it is answered: what was accepted is not lost by a power cut either.
    admit: async admission =>
      await database.write('full', () => {
        const admitted = judge(database, admission);
        if (admitted === 'begun') write(admission.begin, admission.key);
        if (admitted === 'queued') write(admission.queue, admission.key);
        return admitted;
      }),
    async claim(owner, defaults, last) {
      // Most of the time there is nobody, and looking costs no lock.
      if (nextInLine(database, defaults, last) === null) return null;
      return database.write('later', () => {
        const id = nextInLine(database, defaults, last);
        if (id === null) return null;
        const record = readRecord(database.prepare('SELECT record FROM runs WHERE id = ?').get(id));
        if (record === null) return null;
        record.state = 'preparing';
        record.owner = owner;
        replace(database, record, "state = 'queued'", []);
        return record;
      });
    },
    requeue: async (run, events) =>
      await database.write('full', () => {
        const back = { ...run, state: 'queued' as const, attempt: run.attempt + 1 };
        if (!replace(database, back, "state = 'preparing' AND attempt = ?", [run.attempt])) return false;
        journal.add(events);
        return true;
      }),
    leave: async (run, events) =>
      await database.write('full', () => {
        if (!replace(database, run, "state = 'queued' AND attempt = ?", [run.attempt])) return false;
        journal.add(events);
        return true;
      }),
    usage: async tenant => ({
      running: countRunning(database, tenant),
      queued: countQueued(database, tenant),
      storageBytes: Number(
        database
          .prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM runs WHERE tenant = ? AND bytes > 0')
          .get(tenant ?? '')?.bytes,
      ),
    }),
    async lengthOfAllTenants() {
      return { running: countAll(database, ON_THE_WAY), queued: countAll(database, QUEUED) };
    },
    async forgetKeys(before) {
      await database.write('later', () => database.prepare('DELETE FROM idempotency WHERE created_at < ?').run(before));
    },
    async beat({ id, owner, seenAt }) {
      await database.write('later', () =>
        database
          .prepare(
            `INSERT INTO instances (id, owner, seen_at) VALUES (?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, seen_at = excluded.seen_at`,
          )
          .run(id, owner, seenAt),
      );
    },
    instances: async () =>
      database
        .prepare('SELECT id, owner, seen_at AS seenAt FROM instances ORDER BY id')
        .all()
        .map(row => ({ id: String(row.id), owner: String(row.owner), seenAt: Number(row.seenAt) })),
    async forgetInstances(which) {
      await database.write('later', () =>
        'id' in which
          ? database.prepare('DELETE FROM instances WHERE id = ?').run(which.id)
          : database.prepare('DELETE FROM instances WHERE seen_at < ?').run(which.seenBefore),
      );
    },
  };
}

function judge(database: Database, { begin, hasRoom, quotas, defaults, queueLimit, key }: Admission): Admitted {
  const { tenant } = begin.record;
  if (key !== null && findKey(database, tenant, key) !== null) return 'taken';
  if (hasRoom && countRunning(database, tenant) < quotas.running && nextInLine(database, defaults, null) === null)
    return 'begun';
  return countQueued(database, tenant) < quotas.queued && countAll(database, QUEUED) < queueLimit ? 'queued' : 'full';
}

/** Each step finds the next tenant in the index, which is named: by itself SQLite would go through all runs in line. */
const IN_LINE = `
  WITH RECURSIVE line (tenant) AS (
    SELECT min(tenant) FROM runs INDEXED BY runs_open WHERE ${QUEUED}
    UNION ALL
    SELECT (SELECT min(tenant) FROM runs INDEXED BY runs_open WHERE ${QUEUED} AND tenant > line.tenant)
    FROM line WHERE line.tenant IS NOT NULL
  )
  SELECT line.tenant AS tenant, tenants.quotas ->> '$.running' AS most,
    (SELECT count(*) FROM runs WHERE runs.tenant = line.tenant AND ${ON_THE_WAY}) AS running
  FROM line LEFT JOIN tenants ON tenants.name = line.tenant
  WHERE line.tenant IS NOT NULL AND tenants.disabled_at IS NULL`;

function nextInLine(database: Database, defaults: RunQuotas, last: string | null): string | null {
  const may = database
    .prepare(IN_LINE)
    .all()
    .map(row => ({
      tenant: String(row.tenant),
      running: Number(row.running),
      most: Number(row.most ?? defaults.running),
    }))
    .filter(({ running, most }) => running < most);
  const fewest = may.reduce((least, { running }) => Math.min(least, running), Number.POSITIVE_INFINITY);
  const heads = may
    .filter(({ running }) => running === fewest)
    .flatMap(({ tenant }) => {
      const head = database
        .prepare(`SELECT id, created_at FROM runs WHERE ${QUEUED} AND tenant = ? ORDER BY created_at, id LIMIT 1`)
        .get(tenant);
      return head === undefined ? [] : [{ id: String(head.id), tenant, createdAt: Number(head.created_at) }];
    });
  if (last !== null) return inTurn(heads, last)?.id ?? null;
  const [first] = heads.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  return first?.id ?? null;
}

/** The next after `last`, and after all of them the first. The line is in the order of names. */
function inTurn<T extends { tenant: string }>(heads: readonly T[], last: string): T | undefined {
  return heads.find(({ tenant }) => tenant > last) ?? heads[0];
}

function countRunning(database: Database, tenant: string | null): number {
  return countOf(database, ON_THE_WAY, tenant);
}

function countQueued(database: Database, tenant: string | null): number {
  return countOf(database, QUEUED, tenant);
}

function countAll(database: Database, where: string): number {
  return Number(database.prepare(`SELECT count(*) AS count FROM runs WHERE ${where}`).get()?.count);
}

function countOf(database: Database, where: string, tenant: string | null): number {
  const row = database.prepare(`SELECT count(*) AS count FROM runs WHERE tenant = ? AND ${where}`).get(tenant ?? '');
  return Number(row?.count);
}

function findKey(
  database: Database,
  tenant: string | null,
  { key, since }: Pick<RunKey, 'key' | 'since'>,
): { fingerprint: string; run: string } | null {
  const row = database
    .prepare('SELECT fingerprint, run FROM idempotency WHERE tenant = ? AND key = ? AND created_at >= ?')
    .get(tenant ?? '', key, since);
  return row === undefined ? null : { fingerprint: String(row.fingerprint), run: String(row.run) };
}

function keep(database: Database, { tenant, id, createdAt }: RunRecord, { key, fingerprint }: RunKey): void {
  database
    .prepare('INSERT OR REPLACE INTO idempotency (tenant, key, fingerprint, run, created_at) VALUES (?, ?, ?, ?, ?)')
    .run(tenant ?? '', key, fingerprint, id, createdAt);
}

function replace(database: Database, run: RunRecord, where: string, values: number[]): boolean {
  const { changes } = database
    .prepare(`UPDATE runs SET state = ?, attempt = ?, bytes = ?, record = ? WHERE id = ? AND ${where}`)
    .run(run.state, run.attempt, keptBytes(run), JSON.stringify(run), run.id, ...values);
  return Number(changes) === 1;
}
