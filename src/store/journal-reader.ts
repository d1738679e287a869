import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as breathe } from 'node:timers/promises';
import {
  type Entry,
  type EntryFilter,
  fits,
  type Head,
  type JournalStore,
  type Page,
  type Walked,
} from '../audit/index.ts';
import type { Database } from './database.ts';
import { damaged, ROWS, readEntry, type Segment, segmentsAfter, toRow, toSql } from './journal-rows.ts';
import { rowsOf } from './rows.ts';

const EVERY = 1000;

/** Everything that only reads the journal: each on one moment of it, whoever writes or rotates meanwhile. */
export function createJournalReader(
  database: Database,
  directory: string,
  store: string,
): Pick<JournalStore, 'list' | 'after' | 'walk' | 'heads'> {
  const withView = async <T>(body: (view: DatabaseSync) => Promise<T>): Promise<T> => {
    const view = database.openView();
    try {
      return await body(view);
    } finally {
      view.close();
    }
  };
  return {
    list: (filter, limit) => withView(view => list(view, { directory, store }, filter, limit)),
    after: (position, filter, limit) => withView(view => after(view, { directory, store }, position, filter, limit)),
    heads: () => withView(async view => heads(view)),
    async *walk() {
      const view = database.openView();
      try {
        for (const segment of segmentsAfter(view, 0)) yield* readSealed(directory, segment);
        yield* walkRows(view);
      } finally {
        view.close();
      }
    },
  };
}

type Place = { directory: string; store: string };

async function list(
  view: DatabaseSync,
  { directory, store }: Place,
  filter: EntryFilter,
  limit: number,
): Promise<Page> {
  const { where, values, newestFirst } = toSql(filter, store);
  const rows = view.prepare(`${ROWS} WHERE ${where} ORDER BY ${newestFirst} LIMIT ?`).all(...values, limit);
  let entries = rows.map(row => readEntry(toRow(row), `row ${Number(row.position)}`)).reverse();
  // The files are read backwards, one by one, until there are enough.
  for (const segment of segmentsAfter(view, 0).reverse()) {
    if (entries.length >= limit) break;
    const older: Entry[] = [];
    for await (const { entry } of sealedEntries(directory, segment, filter)) {
      older.push(entry);
      if (older.length > 2 * limit) older.splice(0, older.length - limit);
    }
    entries = [...older, ...entries].slice(-limit);
  }
  return { entries, position: lastPosition(view) };
}

async function after(
  view: DatabaseSync,
  { directory, store }: Place,
  position: number,
  filter: EntryFilter,
  limit: number,
): Promise<Page> {
  const found: { position: number; entry: Entry }[] = [];
  // What was sealed before whoever follows has seen it.
  for (const segment of segmentsAfter(view, position))
    for await (const each of sealedEntries(directory, segment, filter)) if (each.position > position) found.push(each);
  const { where, values } = toSql(filter, store);
  const rows = view
    .prepare(`${ROWS} WHERE position > ? AND ${where} ORDER BY position LIMIT ?`)
    .all(position, ...values, limit);
  for (const row of rows.map(toRow))
    found.push({ position: row.position, entry: readEntry(row, `row ${row.position}`) });
  const page = found.slice(0, limit);
  // A full page may not be all of it; otherwise what did not fit the filter need not be looked at again.
  const next = page.length === limit ? page.at(-1)?.position : lastPosition(view);
  return { entries: page.map(({ entry }) => entry), position: Math.max(next ?? 0, position) };
}

function heads(view: DatabaseSync): Head[] {
  const rows = view
    .prepare(
      `SELECT name, coalesce(max(seq), sealed_seq) AS seq, coalesce(hash, sealed_hash) AS hash
       FROM audit_chains LEFT JOIN audit ON audit.chain = audit_chains.id GROUP BY audit_chains.id ORDER BY name`,
    )
    .all();
  return rows.map(row => ({ chain: String(row.name), seq: Number(row.seq), hash: String(row.hash) }));
}

function lastPosition(view: DatabaseSync): number {
  return Number(view.prepare('SELECT max(position) AS position FROM audit').get()?.position ?? 0);
}

async function* walkRows(view: DatabaseSync): AsyncGenerator<Walked> {
  let seen = 0;
  let before = 0;
  try {
    for (const found of rowsOf(view, `${ROWS} ORDER BY position`)) {
      const { position, chain, seq, body, hash } = toRow(found);
      yield { kind: 'entry', where: `row ${position}`, body, hash, found: { chain, seq } };
      before = position;
      if (++seen % EVERY === 0) await breathe();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    yield { kind: 'damage', where: `after row ${before}`, what: `the database cannot be read: ${why}` };
  }
}

async function* sealedEntries(
  directory: string,
  segment: Segment,
  filter: EntryFilter,
): AsyncGenerator<{ position: number; entry: Entry }> {
  let position = segment.first - 1;
  for await (const step of readSealed(directory, segment)) {
    if (step.kind === 'damage') throw damaged(step.where);
    position++;
    const entry = readEntry(step, step.where);
    if (fits(entry, filter)) yield { position, entry };
  }
}

/** Loaded when there is a file to read: most commands never need it. */
async function* readSealed(directory: string, { file, sha256 }: Segment): AsyncGenerator<Walked> {
  const { readSegment } = await import('./segment-file.ts');
  yield* readSegment(join(directory, file), file, sha256);
}
