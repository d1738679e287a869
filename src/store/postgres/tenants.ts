import type { KeyRow, KeyRows, TenantRow, TenantRows } from '../tenants.ts';
import type { Postgres, Row } from './database.ts';
import type { PostgresJournal } from './journal.ts';

const TENANT = 'name, created_at, disabled_at, quotas';
const KEY = `id, tenant, name, scopes, hash, previous_hash, previous_until, created_at, created_by, expires_at, revoked_at,
  last_used_at`;

export function createTenantRows(database: Postgres, journal: PostgresJournal): TenantRows {
  return {
    async get(name) {
      const [row] = await database.rows(`SELECT ${TENANT} FROM tenants WHERE name = $1`, name);
      return row === undefined ? null : toTenant(row);
    },
    async list(limit, after) {
      const rows = await database.rows(
        `SELECT ${TENANT} FROM tenants WHERE $1::text IS NULL OR name > $1 ORDER BY name LIMIT $2`,
        after,
        limit,
      );
      return rows.map(toTenant);
    },
    insert: (row, events) =>
      database.write('full', async session => {
        const made = await session.change(
          `INSERT INTO tenants (${TENANT}) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
          ...[row.name, row.createdAt, row.disabledAt, JSON.stringify(row.quotas)],
        );
        if (made === 0) return false;
        await journal.add(session, events);
        return true;
      }),
    update: (row, events) =>
      database.write('full', async session => {
        const changed = await session.change(
          'UPDATE tenants SET created_at = $2, disabled_at = $3, quotas = $4 WHERE name = $1',
          ...[row.name, row.createdAt, row.disabledAt, JSON.stringify(row.quotas)],
        );
        if (changed === 0) return false;
        await journal.add(session, events);
        return true;
      }),
  };
}

/** API keys in PostgreSQL. */
export function createKeyRows(database: Postgres, journal: PostgresJournal): KeyRows {
  return {
    async get(id) {
      const [row] = await database.rows(`SELECT ${KEY} FROM api_keys WHERE id = $1`, id);
      return row === undefined ? null : toKey(row);
    },
    async list(tenant, limit, after) {
      const rows = await database.rows(
        `SELECT ${KEY} FROM api_keys WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR id > $2)
         ORDER BY id LIMIT $3`,
        ...[tenant, after, limit],
      );
      return rows.map(toKey);
    },
    async isEmpty() {
      const [row] = await database.rows('SELECT EXISTS (SELECT 1 FROM api_keys) AS found');
      return row?.found !== true;
    },
    insert: (row, events) =>
      database.write('full', async session => {
        await session.change(
          `INSERT INTO api_keys (${KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
          ...[...valuesOf(row), row.lastUsedAt],
        );
        await journal.add(session, events);
      }),
    update: (row, events) =>
      database.write('full', async session => {
        const changed = await session.change(
          `UPDATE api_keys SET tenant = $2, name = $3, scopes = $4, hash = $5, previous_hash = $6, previous_until = $7,
             created_at = $8, created_by = $9, expires_at = $10, revoked_at = $11 WHERE id = $1`,
          ...valuesOf(row),
        );
        if (changed === 0) return false;
        await journal.add(session, events);
        return true;
      }),
    async touch(id, at) {
      await database.write('later', session =>
        session.change('UPDATE api_keys SET last_used_at = $1 WHERE id = $2', at, id),
      );
    },
  };
}

function valuesOf(row: KeyRow) {
  const { id, tenant, name, scopes, hash, previous, createdAt, createdBy, expiresAt, revokedAt } = row;
  return [
    ...[id, tenant, name, JSON.stringify(scopes), hash, previous?.hash ?? null, previous?.until ?? null],
    ...[createdAt, createdBy, expiresAt, revokedAt],
  ];
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
    expiresAt: numberOrNull(row.expires_at),
    lastUsedAt: numberOrNull(row.last_used_at),
    revokedAt: numberOrNull(row.revoked_at),
  };
}

function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
