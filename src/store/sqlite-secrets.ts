import type { Database } from './database.ts';
import { hostsOf } from './secret-hosts.ts';
import type { Rekeying, SecretChange, SecretRow, SecretRows, SecretWritten } from './secrets.ts';
import type { SqliteJournal } from './sqlite-journal.ts';

const COLUMNS =
  'tenant, name, version, kind, hosts, created_at AS createdAt, changed_at AS changedAt, used_at AS usedAt, wrapped, sealed';

/** Sealed secrets in SQLite. Only whoever has the master key can say what they are. */
export function createSecretRows(database: Database, journal: SqliteJournal): SecretRows {
  const find = (tenant: string, name: string): SecretRow | null => {
    const row = database.prepare(`SELECT ${COLUMNS} FROM secrets WHERE tenant = ? AND name = ?`).get(tenant, name);
    return row === undefined ? null : toRow(row);
  };
  return {
    keyId: async () => keyIdOf(database),
    get: async (tenant, name) => find(tenant, name),
    list: async tenant =>
      database.prepare(`SELECT ${COLUMNS} FROM secrets WHERE tenant = ? ORDER BY name`).all(tenant).map(toRow),
    write: async change =>
      await database.write('full', () => {
        const before = find(change.row.tenant, change.row.name)?.version ?? 0;
        const written = writeRow(database, change, before);
        if (written === 'written') journal.add(change.events);
        return written;
      }),
    remove: async (tenant, name, events) =>
      await database.write('full', () => {
        const { changes } = database.prepare('DELETE FROM secrets WHERE tenant = ? AND name = ?').run(tenant, name);
        if (Number(changes) === 0) return false;
        journal.add(events);
        return true;
      }),
    async touch(tenant, names, at) {
      await database.write('later', () => {
        database
          .prepare('UPDATE secrets SET used_at = ? WHERE tenant = ? AND name IN (SELECT value FROM json_each(?))')
          .run(at, tenant, JSON.stringify(names));
      });
    },
    rekey: async change =>
      await database.write('full', () => {
        if (keyIdOf(database) !== change.from) return false;
        rewrapAll(database, change);
        journal.add(change.events);
        return true;
      }),
  };
}

/** What it was before the last secret was removed matters to nobody: with that key lost, none could ever be stored again. */
function keyIdOf(database: Database): string | null {
  const row = database.prepare('SELECT id FROM secrets_key WHERE EXISTS (SELECT 1 FROM secrets)').get();
  return row === undefined ? null : String(row.id);
}

function writeRow(database: Database, { row, keyId }: SecretChange, before: number): SecretWritten {
  const current = keyIdOf(database);
  if (current !== null && current !== keyId) return 'other-key';
  if (row.version !== before + 1) return 'stale';
  if (current === null) database.prepare('INSERT OR REPLACE INTO secrets_key (one, id) VALUES (1, ?)').run(keyId);
  database
    .prepare(
      `INSERT OR REPLACE INTO secrets (tenant, name, version, kind, hosts, created_at, changed_at, used_at, wrapped, sealed)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
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
    );
  return 'written';
}

function rewrapAll(database: Database, { to, rewrap }: Rekeying): void {
  for (const row of database.prepare(`SELECT ${COLUMNS} FROM secrets`).all().map(toRow)) {
    database
      .prepare('UPDATE secrets SET wrapped = ? WHERE tenant = ? AND name = ?')
      .run(rewrap(row), row.tenant, row.name);
  }
  database.prepare('UPDATE secrets_key SET id = ?').run(to);
}

function toRow(row: Record<string, unknown>): SecretRow {
  return {
    tenant: String(row.tenant),
    name: String(row.name),
    version: Number(row.version),
    kind: String(row.kind),
    hosts: hostsOf(row.hosts),
    createdAt: Number(row.createdAt),
    changedAt: Number(row.changedAt),
    usedAt: row.usedAt === null ? null : Number(row.usedAt),
    wrapped: bytesOf(row.wrapped),
    sealed: bytesOf(row.sealed),
  };
}

function bytesOf(value: unknown): Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : Buffer.alloc(0);
}
