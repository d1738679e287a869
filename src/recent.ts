import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config/index.ts';

/** As far back as is looked: what was used before that is not recent, and the look must cost next to nothing. */
const MAX_RUNS = 200;
const MAX_ENTRIES = 500;

type Use = { name: unknown; at: unknown };

/**
 * Names of the skills that the machine's own user ran or activated, the latest first. A catalog asks, so this reads the file of
 * the store without loading the store, which would take longer than everything else. It reads beside whoever writes, changes
 * nothing, and has no answer where the store is elsewhere, another version's or not to be read: an order is nothing to fail for.
 */
export async function recentSkills(config: Config): Promise<string[]> {
  const path = join(config.get('data.directory'), 'skillbox.db');
  if (config.get('store.postgres.url') !== null || !existsSync(path)) return [];
  return readRecentSkills(path);
}

export async function readRecentSkills(path: string): Promise<string[]> {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return latestFirst([...database.prepare(RUNS).all(), ...database.prepare(ACTIVATIONS).all()] as Use[]);
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
}

const RUNS = `SELECT skill AS name, created_at AS at FROM runs WHERE tenant = '' ORDER BY created_at DESC, id DESC LIMIT ${MAX_RUNS}`;
const ACTIVATIONS = `SELECT subject AS name, time AS at FROM audit
  WHERE position > (SELECT max(position) FROM audit) - ${MAX_ENTRIES} AND type = 'skill.activated' AND body ->> '$.tenant' IS NULL`;

function latestFirst(uses: readonly Use[]): string[] {
  const sorted = [...uses].sort((a, b) => Number(b.at) - Number(a.at));
  return [...new Set(sorted.flatMap(({ name }) => (typeof name === 'string' ? [name] : [])))];
}
