import type { Blobs } from '../blobs.ts';
import type { Store } from '../store.ts';
import { createAnswerRows } from './answers.ts';
import { Postgres, type PostgresSettings } from './database.ts';
import { createPostgresJournal } from './journal.ts';
import { createLogRows } from './logs.ts';
import { migrate } from './migrate.ts';
import { createRunQueue } from './queue.ts';
import { createRunRecords } from './runs.ts';
import { createSecretRows } from './secrets.ts';
import { createSkillRows } from './skills.ts';
import { createKeyRows, createTenantRows } from './tenants.ts';

/** Records in PostgreSQL. The schema is brought up to date first. */
export async function openRecords(url: string, blobs: Blobs, settings: PostgresSettings): Promise<Store> {
  const database = new Postgres(url, settings);
  try {
    await migrate(database);
    const journal = await createPostgresJournal(database, blobs);
    return {
      runs: createRunRecords(database, journal),
      queue: createRunQueue(database, journal),
      logs: createLogRows(database),
      journal,
      answers: tenant => createAnswerRows(database, journal, tenant),
      secrets: createSecretRows(database, journal),
      skills: createSkillRows(database, journal),
      tenants: createTenantRows(database, journal),
      keys: createKeyRows(database, journal),
      blobs,
      sweep: () => blobs.sweep(),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
