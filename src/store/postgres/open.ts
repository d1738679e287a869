import { SkillboxError } from '../../base/index.ts';
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
    await migrate(database, settings.schema);
    const journal = await createPostgresJournal(database, blobs);
    const logs = createLogRows(database, blobs);
    const skills = createSkillRows(database, journal);
    return {
      isShared: true,
      runs: createRunRecords(database, journal),
      queue: createRunQueue(database, journal),
      logs,
      journal,
      answers: tenant => createAnswerRows(database, journal, tenant),
      secrets: createSecretRows(database, journal),
      skills,
      tenants: createTenantRows(database, journal),
      keys: createKeyRows(database, journal),
      blobs,
      async keptBlobs(sha256s) {
        const rows = await database.rows(
          `SELECT sha256 FROM run_logs WHERE sha256 = ANY ($1) UNION SELECT sha256 FROM audit_segments WHERE sha256 = ANY ($1)`,
          [sha256s],
        );
        return [...new Set([...(await skills.kept(sha256s)), ...rows.map(row => String(row.sha256))])];
      },
      check: () => check(database),
      async sweep() {
        await blobs.sweep();
        await logs.sweep();
      },
      async close() {
        await logs.close();
        await blobs.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A standby answers, and takes nothing. */
async function check(database: Postgres): Promise<void> {
  const [row] = await database.rows("SELECT current_setting('transaction_read_only') AS locked");
  if (row?.locked !== 'off') throw new SkillboxError('BACKEND_UNAVAILABLE', 'the database takes no changes now');
}
