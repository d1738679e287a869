import { hostsOf } from '../secret-hosts.ts';
import type { Rekeying, SecretChange, SecretRow, SecretRows, SecretWritten } from '../secrets.ts';
import type { Postgres, Row, Session } from './database.ts';
import type { PostgresJournal } from './journal.ts';

const COLUMNS = 'tenant, name, version, kind, hosts, created_at, changed_at, used_at, wrapped, sealed';

/** Sealed secrets in PostgreSQL. Only whoever has the master key can say what they are. */
export function createSecretRows(database: Postgres, journal: PostgresJournal): SecretRows {
  return {
    keyId: () => keyIdOf(database),
    get: (tenant, name) => find(database, tenant, name),
    async list(tenant) {
      const rows = await database.rows(`SELECT ${COLUMNS} FROM secrets WHERE tenant = $1 ORDER BY name`, [tenant]);
      return rows.map(toRow);
    },
    write: change =>
      database.write('full', async session => {
        const written = await writeRow(session, change);
        if (written === 'written') await journal.add(session, change.events);
        return written;
      }),
    remove: (tenant, name, events) =>
      database.write('full', async session => {
        await lockKey(session);
        if ((await session.change('DELETE FROM secrets WHERE tenant = $1 AND name = $2', [tenant, name])) === 0)
          return false;
        await journal.add(session, events);
        return true;
      }),
    async touch(tenant, names, at) {
      await database.write('later', session =>
        session.change('UPDATE secrets SET used_at = $1 WHERE tenant = $2 AND name = ANY ($3)', [at, tenant, names]),
      );
    },
    rekey: change =>
      database.write('full', async session => {
        await lockKey(session);
        if ((await keyIdOf(session)) !== change.from) return false;
        await rewrapAll(session, change);
        await journal.add(session, change.events);
        return true;
      }),
  };
}

/** One at a time: whoever writes must know under which key, and that nobody changes it meanwhile. Readers do not wait. */
function lockKey(session: Session): Promise<Row[]> {
  return session.rows('LOCK TABLE secrets_key IN SHARE ROW EXCLUSIVE MODE');
}

/** What it was before the last secret was removed matters to nobody: with that key lost, none could ever be stored again. */
async function keyIdOf(session: Pick<Session, 'rows'>): Promise<string | null> {
  const [row] = await session.rows('SELECT id FROM secrets_key WHERE EXISTS (SELECT 1 FROM secrets)');
  return row === undefined ? null : String(row.id);
}

async function find(session: Pick<Session, 'rows'>, tenant: string, name: string): Promise<SecretRow | null> {
  const [row] = await session.rows(`SELECT ${COLUMNS} FROM secrets WHERE tenant = $1 AND name = $2`, [tenant, name]);
  return row === undefined ? null : toRow(row);
}

async function writeRow(session: Session, { row, keyId }: SecretChange): Promise<SecretWritten> {
  await lockKey(session);
  const current = await keyIdOf(session);
  if (current !== null && current !== keyId) return 'other-key';
  const before = (await find(session, row.tenant, row.name))?.version ?? 0;
  if (row.version !== before + 1) return 'stale';
  if (current === null)
    await session.change('INSERT INTO secrets_key (id) VALUES ($1) ON CONFLICT (one) DO UPDATE SET id = $1', [keyId]);
  await session.change(
    `INSERT INTO secrets (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (tenant, name) DO UPDATE SET version = $3, kind = $4, hosts = $5, created_at = $6, changed_at = $7,
       used_at = $8, wrapped = $9, sealed = $10`,
    [
      row.tenant,
      row.name,
      row.version,
      row.kind,
      JSON.stringify(row.hosts),
      row.createdAt,
      row.changedAt,
      row.usedAt,
      row.wrapped,
      row.sealed,
    ],
  );
  return 'written';
}

async function rewrapAll(session: Session, { to, rewrap }: Rekeying): Promise<void> {
  const rows = await session.rows(`SELECT ${COLUMNS} FROM secrets`);
  for (const row of rows.map(toRow))
    await session.change('UPDATE secrets SET wrapped = $1 WHERE tenant = $2 AND name = $3', [
      rewrap(row),
      row.tenant,
      row.name,
    ]);
  await session.change('UPDATE secrets_key SET id = $1', [to]);
}

function toRow(row: Row): SecretRow {
  return {
    tenant: String(row.tenant),
    name: String(row.name),
    version: Number(row.version),
    kind: String(row.kind),
    hosts: hostsOf(row.hosts),
    createdAt: Number(row.created_at),
    changedAt: Number(row.changed_at),
    usedAt: row.used_at === null ? null : Number(row.used_at),
    wrapped: row.wrapped as Buffer,
    sealed: row.sealed as Buffer,
  };
}
