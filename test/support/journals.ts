import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeWrong, type EntryFilter, EVENT_TYPES, openAudit, type Verified } from '../../src/audit/index.ts';
import { openStore } from '../../src/store/index.ts';
import { TESTER } from './events.ts';
import { WRITER } from './record.ts';

const DEPTH = 3;
const ALL: EntryFilter = { types: null, subject: null, sinceMs: null, untilMs: null };
const broken = new Set<string>();

/** For a test that breaks a store on purpose: its journal is not expected to verify. */
export function breaksJournal(directory: string): string {
  broken.add(directory);
  return directory;
}

export async function verifyJournal(directory: string, against: string | null = null): Promise<Verified> {
  const store = openStore(directory, WRITER);
  try {
    return await openAudit(store.journal, join(directory, 'audit')).verify(against, null);
  } finally {
    await store.close();
  }
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
async function checkFields(directory: string): Promise<void> {
  const store = openStore(directory, WRITER);
  try {
    for await (const { entry } of openAudit(store.journal, directory).export(ALL)) {
      const known: Record<string, { data: object }> = EVENT_TYPES;
      const unknown = Object.keys(entry.data).filter(name => !(name in (known[entry.type]?.data ?? {})));
      if (entry.actor.id !== TESTER.id && unknown.length > 0)
        throw new Error(`${entry.type} has ${unknown.join(', ')}: name it in EVENT_TYPES, and run npm run docs`);
    }
  } finally {
    await store.close();
  }
}

function storesBelow(path: string, depth: number): string[] {
  if (depth < 0 || broken.has(path) || !existsSync(path)) return [];
  if (existsSync(join(path, 'skillbox.db'))) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .flatMap(entry => storesBelow(join(path, entry.name), depth - 1));
}
