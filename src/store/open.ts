import { join } from 'node:path';
import { makeOwn, SkillboxError } from '../base/index.ts';
import { BUSY_TIMEOUT_MS, Database } from './database.ts';
import { createLogFiles } from './log-files.ts';
import { type BlobSettings, openBlobs } from './open-blobs.ts';
import type { Writer } from './parts.ts';
import { createRunRecords } from './run-records.ts';
import { createAnswerRows } from './sqlite-answers.ts';
import { createSqliteJournal } from './sqlite-journal.ts';
import { createRunQueue } from './sqlite-queue.ts';
import { createSecretRows } from './sqlite-secrets.ts';
import { createSkillRows } from './sqlite-skills.ts';
import { createKeyRows, createTenantRows } from './sqlite-tenants.ts';
import type { Store } from './store.ts';

/** The embedded store: one SQLite file in the data directory, and blobs in a folder beside it unless a bucket is named. */
export function openStore(
  dataDirectory: string,
  writer: Writer,
  blobSettings: BlobSettings = { kind: 'disk', sign: null },
): Store {
  try {
    makeOwn(dataDirectory);
    const database = new Database(join(dataDirectory, 'skillbox.db'), BUSY_TIMEOUT_MS);
    const journal = createSqliteJournal(database, join(dataDirectory, 'audit'));
    const runs = createRunRecords(database, journal);
    const secrets = createSecretRows(database, journal);
    const skills = createSkillRows(database, journal);
    const tenants = createTenantRows(database, journal);
    const keys = createKeyRows(database, journal);
    const blobs = openBlobs(blobSettings, dataDirectory, writer);
    return {
      isShared: false,
      runs,
      queue: createRunQueue(database, journal),
      logs: createLogFiles(join(dataDirectory, 'logs')),
      journal,
      answers: tenant => createAnswerRows(database, journal, tenant),
      secrets,
      skills,
      tenants,
      keys,
      blobs,
      check: async () => database.check(),
      keptBlobs: sha256s => skills.kept(sha256s),
      sweep: () => blobs.sweep(),
      async close() {
        await blobs.close();
        database.close();
      },
    };
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SkillboxError('UNWRITABLE', `cannot open the data directory ${dataDirectory}: ${why}`, {
      hint: /malformed|not a database/.test(why)
        ? 'skillbox.db is damaged: stop what uses it, and restore the directory from a backup (docs/operations.md).'
        : 'Check its permissions and free space, or set SKILLBOX_DATA_DIR.',
      cause,
    });
  }
}
