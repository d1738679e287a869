import { isUnchanged, type KeyRow, type KeyRows, type TenantRow, type TenantRows } from '../tenants.ts';
import type { Postgres, Row, Session, Value } from './database.ts';
import type { PostgresJournal } from './journal.ts';

const TENANT = 'name, created_at, disabled_at, quotas';
const KEY = `id, name, scopes, hash, previous_hash, previous_until, expires_at, revoked_at, tenant, created_at, created_by,
  derived, last_used_at`;

/** Tenants in PostgreSQL. */
export function createTenantRows(database: Postgres, journal: PostgresJournal): TenantRows {
  return {
    async get(name) {
      const [row] = await database.rows(`SELECT ${TENANT} FROM tenants WHERE name = $1`, [name]);
      return row === undefined ? null : toTenant(row);
    },
    async list(limit, after) {
      const rows = await database.rows(
        `SELECT ${TENANT} FROM tenants WHERE $1::text IS NULL OR name > $1 ORDER BY name LIMIT $2`,
        [after, limit],
      );
      return rows.map(toTenant);
    },
    insert: (row, events) =>
      database.write('full', async session => {
        const made = await session.change(
          `INSERT INTO tenants (${TENANT}) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
          [row.name, row.createdAt, row.disabledAt, JSON.stringify(row.quotas)],
        );
        if (made === 0) return false;
        await journal.add(session, events);
        return true;
      }),
    update: (before, row, events) =>
      database.write('full', async session => {
        const [found] = await session.rows(`SELECT ${TENANT} FROM tenants WHERE name = $1 FOR UPDATE`, [row.name]);
        if (found === undefined || !isUnchanged(toTenant(found), before)) return false;
        await session.change('UPDATE tenants SET disabled_at = $2, quotas = $3 WHERE name = $1', [
          row.name,
          row.disabledAt,
          JSON.stringify(row.quotas),
        ]);
        await journal.add(session, events);
        return true;
      }),
  };
}

/** API keys in PostgreSQL: hashes only. */
export function createKeyRows(database: Postgres, journal: PostgresJournal): KeyRows {
  return {
    async get(id) {
      const [row] = await database.rows(`SELECT ${KEY} FROM api_keys WHERE id = $1`, [id]);
      return row === undefined ? null : toKey(row);
    },
    async list(tenant, limit, after) {
      const rows = await database.rows(
        `SELECT ${KEY} FROM api_keys WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR id > $2)
         ORDER BY id LIMIT $3`,
        [tenant, after, limit],
      );
      return rows.map(toKey);
    },
    insert: (row, events) =>
      database.write('full', async session => {
        await insertKey(session, row);
        await journal.add(session, events);
      }),
    insertFirst: (row, events) =>
      database.write('full', async session => {
        // Two servers that start at once would both find it empty.
        await session.rows('LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE');
        const [found] = await session.rows('SELECT EXISTS (SELECT 1 FROM api_keys) AS found');
        if (found?.found === true) return false;
        await insertKey(session, row);
        await journal.add(session, events);
        return true;
      }),
    update: (row, hash, events) =>
      database.write('full', async session => {
        const changed = await session.change(
          `UPDATE api_keys SET name = $2, scopes = $3, hash = $4, previous_hash = $5, previous_until = $6, expires_at = $7,
             revoked_at = $8 WHERE id = $1 AND hash = $9 AND revoked_at IS NULL`,
          [...valuesOf(row), hash],
        );
        if (changed === 0) return false;
        await journal.add(session, events);
        return true;
      }),
    async touch(id, at) {
      await database.write('later', session =>
        session.change('UPDATE api_keys SET last_used_at = greatest(last_used_at, $1) WHERE id = $2', [at, id]),
      );
    },
  };
}

/** What may change, in the order of the columns. */
function valuesOf({ id, name, scopes, hash, previous, expiresAt, revokedAt }: KeyRow): Value[] {
  const before = [previous?.hash ?? null, previous?.until ?? null];
  return [id, name, JSON.stringify(scopes), hash, ...before, expiresAt, revokedAt];
}

function toTenant(row: Row): TenantRow {
  return {
    name: String(row.name),
    createdAt: Number(row.created_at),
    disabledAt: numberOrNull(row.disabled_at),
    quotas: JSON.parse(String(row.quotas)) as TenantRow['quotas'],
  };
}

function toKey(row: Row): KeyRow {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    name: String(row.name),
    scopes: JSON.parse(String(row.scopes)) as string[],
    hash: String(row.hash),
    previous:
      row.previous_hash === null ? null : { hash: String(row.previous_hash), until: Number(row.previous_until) },
    createdAt: Number(row.created_at),
    createdBy: String(row.created_by),
    derived: row.derived === true,
    expiresAt: numberOrNull(row.expires_at),
    lastUsedAt: numberOrNull(row.last_used_at),
    revokedAt: numberOrNull(row.revoked_at),
  };
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}

async function insertKey(session: Session, row: KeyRow): Promise<void> {
  await session.change(
    `INSERT INTO api_keys (${KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [...valuesOf(row), row.tenant, row.createdAt, row.createdBy, row.derived, row.lastUsedAt],
  );
}
