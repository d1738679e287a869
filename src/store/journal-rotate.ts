import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import {
  type Actor,
  type AuditEvent,
  describeWrong,
  type Head,
  type Rotation,
  toLine,
  Verifier,
} from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Database } from './database.ts';
import { ROWS, toRow } from './journal-rows.ts';
import { rowsOf } from './rows.ts';
import { writeSegment } from './segment-file.ts';

type Around = {
  database: Database;
  directory: string;
  store: string;
  actor: Actor;
  add: (events: readonly AuditEvent[]) => void;
};
type Range = { first: number; last: number };

/**
 * Old entries go into a file, and the chains go on from where it ends. The file is written without holding anybody up:
 * entries never change. Only then, in one transaction, is it noted, told, and are its rows deleted.
 */
export async function rotateJournal(around: Around, beforeMs: number): Promise<Rotation | null> {
  const { database, directory, store } = around;
  const view = database.openView();
  let range: Range | null;
  let written: { rotation: Rotation; heads: Head[] };
  try {
    range = findRange(view, beforeMs);
    if (range === null) return null;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    written = await writeRange(view, directory, store, range);
  } finally {
    view.close();
  }
  const { rotation, heads } = written;
  try {
    await database.write('full', () => settle(around, range, rotation, heads));
  } catch (error) {
    // Never one that a row names: those entries are nowhere else any more.
    if (!isNamed(database, rotation)) await rm(rotation.path, { force: true });
    throw error;
  }
  return rotation;
}

async function writeRange(
  view: DatabaseSync,
  directory: string,
  store: string,
  range: Range,
): Promise<{ rotation: Rotation; heads: Head[] }> {
  // A name of its own: when two processes rotate at once, neither touches the other's file.
  const file = `${range.first}-${range.last}-${randomBytes(4).toString('hex')}.jsonl.gz`;
  const path = join(directory, file);
  const verifier = new Verifier(store, sealedHeads(view), []);
  const sha256 = await writeSegment(path, checkedLines(view, range, verifier));
  return { rotation: { file, path, sha256, entries: verifier.entries }, heads: verifier.heads };
}

function settle({ database, actor, add }: Around, range: Range, rotation: Rotation, heads: Head[]): void {
  const first = database.prepare('SELECT min(position) AS first FROM audit').get()?.first;
  if (first !== range.first) throw new SkillboxError('CANCELED', 'another process rotated the journal meanwhile');
  note(database, range, rotation, heads);
  add([rotatedEvent(actor, rotation, heads)]);
  database.prepare('DELETE FROM audit WHERE position <= ?').run(range.last);
}

/** The rows from the first on that are all older; null when there are none, or only the one that tells of a rotation. */
function findRange(view: DatabaseSync, beforeMs: number): Range | null {
  const row = view
    .prepare(
      `SELECT min(position) AS first, max(position) AS last, max(type) AS type FROM audit
       WHERE position < coalesce((SELECT min(position) FROM audit WHERE time IS NULL OR time >= ?), 9e18)`,
    )
    .get(beforeMs);
  if (typeof row?.first !== 'number' || typeof row.last !== 'number') return null;
  return row.first === row.last && row.type === 'journal.rotated' ? null : { first: row.first, last: row.last };
}

/** Where each chain stands at the end of the files that there are. */
function sealedHeads(view: DatabaseSync): Head[] {
  const rows = view.prepare('SELECT name, sealed_seq, sealed_hash FROM audit_chains').all();
  return rows.map(row => ({ chain: String(row.name), seq: Number(row.sealed_seq), hash: String(row.sealed_hash) }));
}

/** The lines of the range, each checked on its way: what does not verify is not sealed. */
function* checkedLines(view: DatabaseSync, range: Range, verifier: Verifier): Generator<string> {
  for (const row of rowsOf(view, `${ROWS} WHERE position <= ? ORDER BY position`, range.last)) {
    const { position, chain, seq, body, hash } = toRow(row);
    const wrong = verifier.check({ kind: 'entry', where: `row ${position}`, body, hash, found: { chain, seq } });
    if (wrong !== null)
      throw new SkillboxError('UNREADABLE', `the journal is damaged: ${describeWrong(wrong)}`, {
        hint: 'Run `skillbox audit verify`; a damaged journal is not rotated.',
      });
    yield toLine({ body, hash });
  }
}

function note(database: Database, { first, last }: Range, { file, sha256, entries }: Rotation, heads: Head[]): void {
  database
    .prepare('INSERT INTO audit_segments (first_position, last_position, entries, file, sha256) VALUES (?, ?, ?, ?, ?)')
    .run(first, last, entries, file, sha256);
  for (const { chain, seq, hash } of heads)
    database.prepare('UPDATE audit_chains SET sealed_seq = ?, sealed_hash = ? WHERE name = ?').run(seq, hash, chain);
}

function isNamed(database: Database, { file }: Rotation): boolean {
  return database.prepare('SELECT 1 FROM audit_segments WHERE file = ?').get(file) !== undefined;
}

/** In the chain without a tenant, which every store has. */
function rotatedEvent(actor: Actor, { file, sha256, entries }: Rotation, heads: Head[]): AuditEvent {
  return {
    type: 'journal.rotated',
    actor,
    tenant: null,
    subject: file,
    data: { sha256, entries, heads: heads.map(({ chain, seq, hash }) => ({ chain, seq, hash })) },
  };
}
