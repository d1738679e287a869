import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { BUSY_TIMEOUT_MS, Database } from './database.ts';
import { openDisk } from './disk.ts';
import type { Writer } from './parts.ts';
import { createRunRecords } from './run-records.ts';
import { createAnswerRows } from './sqlite-answers.ts';
import { createSqliteJournal } from './sqlite-journal.ts';
import { createSecretRows } from './sqlite-secrets.ts';
import type { Store } from './store.ts';

/** The embedded store: one SQLite file and a folder of blobs in the data directory. */
export function openStore(dataDirectory: string, writer: Writer): Store {
  try {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
    refuseForeign(dataDirectory);
    const database = new Database(join(dataDirectory, 'skillbox.db'), BUSY_TIMEOUT_MS);
    const journal = createSqliteJournal(database, join(dataDirectory, 'audit'));
    const runs = createRunRecords(database, journal);
    const answers = createAnswerRows(database, journal);
    const secrets = createSecretRows(database, journal);
    const blobs = openDisk(join(dataDirectory, 'blobs'), writer);
    return { runs, journal, answers, secrets, blobs, sweep: () => blobs.sweep(), close: async () => database.close() };
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `cannot open the data directory ${dataDirectory}: ${String(cause)}`, {
      hint: 'Check its permissions and free space, or set SKILLBOX_DATA_DIR.',
      cause,
    });
  }
}

/** Threat: who else may write here chooses what runs, and where root writes. */
function refuseForeign(dataDirectory: string): void {
  const { uid, mode } = statSync(dataDirectory);
  const me = process.getuid?.();
  const why =
    me === undefined || uid === me
      ? (mode & 0o002) === 0
        ? null
        : 'can be written by everyone'
      : `belongs to uid ${uid}, not to ${me}`;
  if (why === null) return;
  throw new SkillboxError('UNWRITABLE', `the data directory ${dataDirectory} ${why}`, {
    hint: 'Make it yours alone (chown, chmod 700), or set SKILLBOX_DATA_DIR.',
  });
}
