import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeWrong, openAudit, type Verified } from '../../src/audit/index.ts';
import { openStore } from '../../src/store/index.ts';
import { WRITER } from './record.ts';

const DEPTH = 3;
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
  }
}

function storesBelow(path: string, depth: number): string[] {
  if (depth < 0 || broken.has(path) || !existsSync(path)) return [];
  if (existsSync(join(path, 'skillbox.db'))) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .flatMap(entry => storesBelow(join(path, entry.name), depth - 1));
}
