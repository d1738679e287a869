import type { Blobs } from './blobs.ts';
import { openStore } from './open.ts';
import { type BlobSettings, openBlobs } from './open-blobs.ts';
import { openPostgres } from './open-postgres.ts';
import type { Writer } from './parts.ts';
import type { PostgresSettings } from './postgres/database.ts';
import type { Store } from './store.ts';

/** Where records and blobs are: in the data directory, or elsewhere. `url` is asked when it is needed: a password stands in it. */
export type StoreChoice =
  | { kind: 'embedded'; blobs: BlobSettings }
  | { kind: 'postgres'; url: () => string; settings: Partial<PostgresSettings>; blobs: BlobSettings };

export const EMBEDDED: StoreChoice = { kind: 'embedded', blobs: { kind: 'disk', sign: null } };

export async function openChosenStore(choice: StoreChoice, dataDirectory: string, writer: Writer): Promise<Store> {
  if (choice.kind === 'embedded') return openStore(dataDirectory, writer, choice.blobs);
  const blobs: Blobs = openBlobs(choice.blobs, dataDirectory, writer);
  try {
    return await openPostgres(choice.url(), blobs, choice.settings);
  } catch (error) {
    await blobs.close();
    throw error;
  }
}
