import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Audit,
  describeWrong,
  type EntryFilter,
  EVENT_TYPES,
  openAudit,
  type Verified,
} from '../../src/audit/index.ts';
import { BUSY_TIMEOUT_MS, Database } from '../../src/store/database.ts';
import { createSqliteJournal } from '../../src/store/sqlite-journal.ts';
import { TESTER } from './events.ts';

const DEPTH = 3;
const ALL: EntryFilter = { types: null, subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null };
const broken = new Set<string>();

/** For a test that breaks a store on purpose: its journal is not expected to verify. */
export function breaksJournal(directory: string): string {
  broken.add(directory);
  return directory;
}

/** As the store does, but whoever it belongs to: some tests run as other users. */
async function withAudit<T>(directory: string, body: (audit: Audit) => Promise<T>): Promise<T> {
  const database = new Database(join(directory, 'skillbox.db'), BUSY_TIMEOUT_MS);
  try {
    const files = join(directory, 'audit');
    return await body(openAudit(createSqliteJournal(database, files), files));
  } finally {
    database.close();
  }
}

export function verifyJournal(directory: string, against: string | null = null): Promise<Verified> {
  return withAudit(directory, audit => audit.verify(against, null));
}

/** Whatever a test did: every journal that it leaves below the path must be whole. */
export async function verifyJournals(path: string): Promise<void> {
  for (const directory of storesBelow(path, DEPTH)) {
    const { wrong } = await verifyJournal(directory);
    if (wrong !== null) throw new Error(`a test left a broken journal in ${directory}: ${describeWrong(wrong)}`);
    await checkFields(directory);
  }
}

/** What is written has the fields that docs/audit.md names, and no others. */
function checkFields(directory: string): Promise<void> {
  const known: Record<string, { data: object }> = EVENT_TYPES;
  return withAudit(directory, async audit => {
    for await (const { entry } of audit.export(ALL)) {
      const unknown = Object.keys(entry.data).filter(name => !(name in (known[entry.type]?.data ?? {})));
      if (entry.actor.id !== TESTER.id && unknown.length > 0)
        throw new Error(`${entry.type} has ${unknown.join(', ')}: name it in EVENT_TYPES, and run npm run docs`);
    }
  });
}

function storesBelow(path: string, depth: number): string[] {
  if (depth < 0 || broken.has(path) || !existsSync(path)) return [];
  if (existsSync(join(path, 'skillbox.db'))) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .flatMap(entry => storesBelow(join(path, entry.name), depth - 1));
}
