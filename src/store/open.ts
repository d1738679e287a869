import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { openDisk } from './disk.ts';
import { openSqlite } from './sqlite.ts';
import type { Store } from './store.ts';

/** The embedded store: one SQLite file and a folder of blobs in the data directory. */
export function openStore(dataDirectory: string): Store {
  try {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
    const runs = openSqlite(join(dataDirectory, 'skillbox.db'));
    return { runs, blobs: openDisk(join(dataDirectory, 'blobs')), close: async () => runs.close() };
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot open the data directory ${dataDirectory}: ${String(cause)}`, {
      hint: 'Check its permissions and free space, or set SKILLBOX_DATA_DIR.',
      cause,
    });
  }
}
