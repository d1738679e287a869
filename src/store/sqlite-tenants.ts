import type { Database } from './database.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { isUnchanged, type KeyRow, type KeyRows, type TenantRow, type TenantRows } from './tenants.ts';

/** Tenants in SQLite. */
export function createTenantRows(database: Database, journal: SqliteJournal): TenantRows {
  const columns = 'name, created_at AS createdAt, disabled_at AS disabledAt, quotas';
  const get = (name: string): TenantRow | null => {
    const row = database.prepare(`SELECT ${columns} FROM tenants WHERE name = ?`).get(name);
    return row === undefined ? null : toTenant(row);
  };
  return {
    get: async name => get(name),
    list: async (limit, after) =>
      database
        .prepare(`SELECT ${columns} FROM tenants WHERE name > ? ORDER BY name LIMIT ?`)
        .all(after ?? '', limit)
        .map(toTenant),
    insert: async (row, events) =>
      await database.write('full', () => {
        const { changes } = database
          .prepare('INSERT OR IGNORE INTO tenants (name, created_at, disabled_at, quotas) VALUES (?, ?, ?, ?)')
          .run(row.name, row.createdAt, row.disabledAt, JSON.stringify(row.quotas));
        if (Number(changes) === 0) return false;
        journal.add(events);
        return true;
      }),
    update: async (before, row, events) =>
      await database.write('full', () => {
        const found = get(row.name);
        if (found === null || !isUnchanged(found, before)) return false;
        database
          .prepare('UPDATE tenants SET disabled_at = ?, quotas = ? WHERE name = ?')
          .run(row.disabledAt, JSON.stringify(row.quotas), row.name);
        journal.add(events);
        return true;
      }),
  };
}

const KEY_COLUMNS = `id, tenant, name, scopes, hash, previous_hash AS previousHash, previous_until AS previousUntil,
  created_at AS createdAt, created_by AS createdBy, derived, expires_at AS expiresAt, last_used_at AS lastUsedAt,
  revoked_at AS revokedAt`;

/** API keys in SQLite: hashes only. */
export function createKeyRows(database: Database, journal: SqliteJournal): KeyRows {
  return {
    async get(id) {
      const row = database.prepare(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE id = ?`).get(id);
      return row === undefined ? null : toKey(row);
    },
    async list(tenant, limit, after) {
      const where = tenant === null ? '' : 'tenant = ? AND';
      const values = [...(tenant === null ? [] : [tenant]), after ?? '', limit];
      return database
        .prepare(`SELECT ${KEY_COLUMNS} FROM api_keys WHERE ${where} id > ? ORDER BY id LIMIT ?`)
        .all(...values)
        .map(toKey);
    },
    insert: async (row, events) =>
      await database.write('full', () => {
        insertKey(database, row);
        journal.add(events);
      }),
    insertFirst: async (row, events) =>
      await database.write('full', () => {
        if (database.prepare('SELECT 1 FROM api_keys LIMIT 1').get() !== undefined) return false;
        insertKey(database, row);
        journal.add(events);
        return true;
      }),
    update: async (row, hash, events) =>
      await database.write('full', () => {
        const { changes } = database
          .prepare(
            `UPDATE api_keys SET name = ?, scopes = ?, hash = ?, previous_hash = ?, previous_until = ?, expires_at = ?,
               revoked_at = ? WHERE id = ? AND hash = ? AND revoked_at IS NULL`,
          )
          .run(
            row.name,
            JSON.stringify(row.scopes),
            row.hash,
            row.previous?.hash ?? null,
            row.previous?.until ?? null,
            row.expiresAt,
            row.revokedAt,
            row.id,
            hash,
          );
        if (Number(changes) === 0) return false;
        journal.add(events);
        return true;
      }),
    async touch(id, at) {
      await database.write('later', () => {
        database
          .prepare('UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?')
          .run(at, id);
      });
    },
  };
}

function toTenant(row: Record<string, unknown>): TenantRow {
  return {
    name: String(row.name),
    createdAt: Number(row.createdAt),
    disabledAt: timeOf(row.disabledAt),
    quotas: JSON.parse(String(row.quotas)) as TenantRow['quotas'],
  };
}

function toKey(row: Record<string, unknown>): KeyRow {
  const until = timeOf(row.previousUntil);
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    name: String(row.name),
    scopes: JSON.parse(String(row.scopes)) as string[],
    hash: String(row.hash),
    previous: until === null ? null : { hash: String(row.previousHash), until },
    createdAt: Number(row.createdAt),
    createdBy: String(row.createdBy),
    derived: row.derived === 1,
    expiresAt: timeOf(row.expiresAt),
    lastUsedAt: timeOf(row.lastUsedAt),
    revokedAt: timeOf(row.revokedAt),
  };
}

function timeOf(value: unknown): number | null {
  return value === null ? null : Number(value);
}

function insertKey(database: Database, row: KeyRow): void {
  database
    .prepare(
      `INSERT INTO api_keys (id, tenant, name, scopes, hash, previous_hash, previous_until, created_at, created_by,
         derived, expires_at, last_used_at, revoked_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      row.id,
      row.tenant,
      row.name,
      JSON.stringify(row.scopes),
      row.hash,
      row.previous?.hash ?? null,
      row.previous?.until ?? null,
      row.createdAt,
      row.createdBy,
      row.derived ? 1 : 0,
      row.expiresAt,
      row.lastUsedAt,
      row.revokedAt,
    );
}
