import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import {
  type Entry,
  type EntryFilter,
  fits,
  type Head,
  type JournalStore,
  openEntry,
  type Walked,
} from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Database } from './database.ts';
import { readSegment } from './segment-file.ts';

const EVERY = 1000;
const ROWS = `SELECT position, name, seq, body, hash FROM audit JOIN audit_chains ON audit_chains.id = audit.chain`;

type Row = { position: number; chain: string; seq: number; body: string; hash: string };
type Segment = { file: string; sha256: string };

/** Everything that only reads the journal. */
export function createJournalReader(
  database: Database,
  directory: string,
): Pick<JournalStore, 'list' | 'after' | 'walk' | 'heads'> {
  const last = () => Number(database.prepare('SELECT max(position) AS position FROM audit').get()?.position ?? 0);
  return {
    async list(filter, limit) {
      const position = last();
      const { where, values } = toSql(filter);
      const rows = database.prepare(`${ROWS} WHERE ${where} ORDER BY position DESC LIMIT ?`).all(...values, limit);
      const entries = rows.map(row => read(toRow(row))).reverse();
      if (entries.length < limit)
        entries.unshift(...(await sealed(database, directory, filter, limit - entries.length)));
      return { entries, position };
    },
    async after(position, filter, limit) {
      const until = last();
      const { where, values } = toSql(filter);
      const rows = database
        .prepare(`${ROWS} WHERE position > ? AND position <= ? AND ${where} ORDER BY position LIMIT ?`)
        .all(position, until, ...values, limit)
        .map(toRow);
      // A full page may not be all of it; otherwise what did not fit the filter need not be looked at again.
      return { entries: rows.map(read), position: rows.length === limit ? (rows.at(-1)?.position ?? until) : until };
    },
    async heads() {
      const rows = database
        .prepare(
          `SELECT name, coalesce(max(seq), sealed_seq) AS seq, coalesce(hash, sealed_hash) AS hash
           FROM audit_chains LEFT JOIN audit ON audit.chain = audit_chains.id GROUP BY audit_chains.id ORDER BY name`,
        )
        .all();
      return rows.map((row): Head => ({ chain: String(row.name), seq: Number(row.seq), hash: String(row.hash) }));
    },
    walk: () => walk(database, directory),
  };
}

/** One moment of the journal, whoever writes or rotates meanwhile: a connection of its own, in one transaction. */
async function* walk(database: Database, directory: string): AsyncGenerator<Walked> {
  const view = database.openView();
  try {
    for (const { file, sha256 } of segmentsOf(
      view.prepare('SELECT file, sha256 FROM audit_segments ORDER BY last_position').all(),
    ))
      yield* readSegment(join(directory, file), file, sha256);
    let seen = 0;
    let before = 0;
    try {
      for (const found of view.prepare(`${ROWS} ORDER BY position`).iterate()) {
        const { position, chain, seq, body, hash } = toRow(found);
        yield { kind: 'entry', where: `row ${position}`, body, hash, found: { chain, seq } };
        before = position;
        if (++seen % EVERY === 0) await breathe();
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      yield { kind: 'damage', where: `after row ${before}`, what: `the database cannot be read: ${why}` };
    }
  } finally {
    view.close();
  }
}

/** The newest of the sealed entries that fit, the oldest of them first; the files are read backwards, one by one. */
async function sealed(database: Database, directory: string, filter: EntryFilter, limit: number): Promise<Entry[]> {
  let found: Entry[] = [];
  const rows = database.prepare('SELECT file, sha256 FROM audit_segments ORDER BY last_position DESC').all();
  for (const { file, sha256 } of segmentsOf(rows)) {
    const here: Entry[] = [];
    for await (const step of readSegment(join(directory, file), file, sha256)) {
      if (step.kind === 'damage') throw damaged(step.where);
      const entry = openEntry(step);
      if (fits(entry, filter)) here.push(entry);
      if (here.length > 2 * limit) here.splice(0, here.length - limit);
    }
    found = [...here, ...found].slice(-limit);
    if (found.length === limit) break;
  }
  return found;
}

function segmentsOf(rows: readonly Record<string, unknown>[]): Segment[] {
  return rows.map(row => ({ file: String(row.file), sha256: String(row.sha256) }));
}

function toSql({ types, subject, sinceMs, untilMs }: EntryFilter): { where: string; values: (string | number)[] } {
  const parts: [string, string | number | null][] = [
    ['type IN (SELECT value FROM json_each(?))', types === null ? null : JSON.stringify(types)],
    ['subject = ?', subject],
    ['time >= ?', sinceMs],
    ['time < ?', untilMs],
  ];
  const used = parts.filter((part): part is [string, string | number] => part[1] !== null);
  return { where: ['TRUE', ...used.map(([sql]) => sql)].join(' AND '), values: used.map(([, value]) => value) };
}

function toRow(row: Record<string, unknown>): Row {
  return {
    position: Number(row.position),
    chain: String(row.name),
    seq: Number(row.seq),
    body: String(row.body),
    hash: String(row.hash),
  };
}

function read(row: Row): Entry {
  try {
    return openEntry(row);
  } catch (cause) {
    throw damaged(`row ${row.position}`, cause);
  }
}

function damaged(where: string, cause: unknown = undefined): SkillboxError {
  return new SkillboxError('UNREADABLE', `the journal is damaged at ${where}`, {
    hint: 'Run `skillbox audit verify`.',
    cause,
  });
}
