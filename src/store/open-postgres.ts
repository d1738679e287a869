import type { Blobs } from './blobs.ts';
import type { PostgresSettings } from './postgres/database.ts';
import type { Store } from './store.ts';

export const DEFAULT_POSTGRES: PostgresSettings = {
  connections: 10,
  connectTimeoutMs: 5_000,
  statementTimeoutMs: 30_000,
  schema: null,
  ca: null,
};

/** The larger store: records in PostgreSQL, which any number of processes may share, and blobs wherever they are given. */
export async function openPostgres(
  url: string,
  blobs: Blobs,
  settings: Partial<PostgresSettings> = {},
): Promise<Store> {
  // Loaded only by those who have one.
  const { openRecords } = await import('./postgres/open.ts');
  return openRecords(url, blobs, { ...DEFAULT_POSTGRES, ...settings });
}
