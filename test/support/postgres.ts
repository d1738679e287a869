import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { findPostgres, startPostgres } from '../../scripts/postgres.mjs';
import { skipUnless } from './require.ts';

/** Why there is no PostgreSQL to test with; null when there is. */
export const noPostgres = skipUnless(
  process.env.SKILLBOX_TEST_POSTGRES !== undefined || findPostgres() !== null,
  'postgres',
  'PostgreSQL is not installed: apt-get install postgresql, or give SKILLBOX_TEST_POSTGRES',
);

/** `npm test` starts one for all; a single file starts its own, which ends with the process. */
let started: string | null = null;
function serverUrl(): string {
  started ??= process.env.SKILLBOX_TEST_POSTGRES ?? startPostgres().url;
  return started;
}

export type Schema = {
  /** A store of its own. */
  url: string;
  /** From outside of the store, in its schema. */
  sql(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
};

/** An empty place in the server that nobody else uses. `close` removes it with all that is in it. */
export async function newSchema(): Promise<Schema> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const url = new URL(serverUrl());
  url.searchParams.set('options', `-c search_path=${name}`);
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`CREATE SCHEMA ${name}`);
  return {
    url: url.href,
    async sql(text, ...values) {
      const { rows } = await client.query<Record<string, unknown>>(text, values);
      return rows;
    },
    async close() {
      await client.query(`DROP SCHEMA ${name} CASCADE`);
      await client.end();
    },
  };
}
