import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll } from 'vitest';
import { findPostgres, startPostgres } from '../../scripts/postgres.mjs';
import type { Store } from '../../src/store/index.ts';
import { openPlace } from './place.ts';
import { skipUnless } from './require.ts';
import { tempDir } from './temp.ts';

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
  name: string;
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
  // Whose connections are whose, for those who look from outside.
  url.searchParams.set('application_name', name);
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  await client.query(`CREATE SCHEMA ${name}; SET search_path = ${name}`);
  return {
    name,
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

export type Place = Schema & {
  /** For `openPlace`, also of other processes. */
  place: string;
  blobs: string;
  open(): Promise<Store>;
};

const made: (() => Promise<void>)[] = [];

/** A store in a schema of its own with blobs in a folder; what is opened and made goes with `clearPlaces`. */
export async function newPlace(): Promise<Place> {
  const schema = await newSchema();
  const blobs = tempDir('blobs');
  const place = `${schema.url}#${blobs}`;
  const stores: Store[] = [];
  made.push(async () => {
    for (const store of stores) await store.close();
    await schema.close();
  });
  const open = async () => {
    const store = await openPlace(place);
    stores.push(store);
    return store;
  };
  return { ...schema, blobs, place, open };
}

/** Call it at the top of a test file. */
export function clearPlaces(): void {
  afterAll(async () => {
    for (const clear of made.splice(0)) await clear();
  });
}
