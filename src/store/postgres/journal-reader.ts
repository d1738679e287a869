import { setTimeout as sleep } from 'node:timers/promises';
import { type Entry, type EntryFilter, fits, type JournalStore, type Page, type Walked } from '../../audit/index.ts';
import type { Blobs } from '../blobs.ts';
import { damaged, readEntry } from '../journal-rows.ts';
import type { Postgres, Session } from './database.ts';
import {
  entryOf,
  type JournalRow,
  positionsIn,
  ROWS,
  type Segment,
  segmentsAfter,
  toRow,
  toSql,
} from './journal-rows.ts';

/** How many rows a walk has in memory. */
const PAGE = 200;
/** Whoever asks after they have written should find it; others who write at that moment are soon done. */
const MAX_WAIT_MS = 500;
const PAUSE_MS = 3;

export type JournalReader = Pick<JournalStore, 'list' | 'after' | 'walk' | 'heads'> & {
  /** Up to which position nothing more will come; ask before the view that relies on it. */
  settled: () => Promise<number>;
};

/** `base`: what the store's locks begin with. */
type Place = { blobs: Blobs; store: string; base: string };

/** Everything that only reads the journal: each on one moment of it, whoever writes or rotates meanwhile. */
export function createJournalReader(database: Postgres, { blobs, store, base }: Place): JournalReader {
  const settled = async (): Promise<number> => {
    const [row] = await database.rows('SELECT audit_settled($1) AS position', [base]);
    return Number(row?.position);
  };
  return {
    settled,
    async list(filter, limit) {
      const upTo = await settledSoon(database, settled);
      return database.view(view => list(view, { blobs, store }, filter, limit, upTo));
    },
    async after(position, filter, limit) {
      const upTo = await settled();
      return database.view(view => after(view, { blobs, store }, { position, upTo }, filter, limit));
    },
    async heads() {
      const rows = await database.rows('SELECT name, seq, hash FROM audit_chains WHERE seq > 0 ORDER BY name');
      return rows.map(row => ({ chain: String(row.name), seq: Number(row.seq), hash: String(row.hash) }));
    },
    async *walk() {
      const view = await database.openView();
      try {
        for (const segment of await segmentsAfter(view, 0)) yield* readSealed(blobs, segment);
        yield* walkRows(view);
      } finally {
        await view.close();
      }
    },
  };
}

/** All that had been given a position when it was asked, unless somebody takes long. */
async function settledSoon(database: Postgres, settled: () => Promise<number>): Promise<number> {
  const [row] = await database.rows('SELECT last_value FROM audit_positions');
  const wanted = Number(row?.last_value);
  let reached = await settled();
  for (const end = Date.now() + MAX_WAIT_MS; reached < wanted && Date.now() < end; reached = await settled())
    await sleep(PAUSE_MS);
  return reached;
}

async function list(
  view: Session,
  { blobs, store }: Pick<Place, 'blobs' | 'store'>,
  filter: EntryFilter,
  limit: number,
  upTo: number,
): Promise<Page> {
  const { where, values, newestFirst } = toSql(filter, store, 3);
  const rows = await view.rows(`${ROWS} WHERE position <= $1 AND ${where} ORDER BY ${newestFirst} LIMIT $2`, [
    upTo,
    limit,
    ...values,
  ]);
  let entries = rows.map(row => entryOf(toRow(row))).reverse();
  // The blobs are read backwards, one by one, until there are enough.
  for (const segment of (await segmentsAfter(view, 0)).reverse()) {
    if (entries.length >= limit) break;
    const older: Entry[] = [];
    for await (const { entry } of sealedEntries(blobs, segment, filter)) {
      older.push(entry);
      if (older.length > 2 * limit) older.splice(0, older.length - limit);
    }
    entries = [...older, ...entries].slice(-limit);
  }
  return { entries, position: upTo };
}

async function after(
  view: Session,
  { blobs, store }: Pick<Place, 'blobs' | 'store'>,
  { position, upTo }: { position: number; upTo: number },
  filter: EntryFilter,
  limit: number,
): Promise<Page> {
  const found: { position: number; entry: Entry }[] = [];
  // What was sealed before whoever follows has seen it.
  for (const segment of await segmentsAfter(view, position)) {
    if (found.length >= limit) break;
    for await (const each of sealedEntries(blobs, segment, filter))
      if (each.position > position && found.length < limit) found.push(each);
  }
  const { where, values } = toSql(filter, store, 4);
  const rows = await view.rows(
    `${ROWS} WHERE position > $1 AND position <= $2 AND ${where} ORDER BY position LIMIT $3`,
    [position, upTo, limit, ...values],
  );
  for (const row of rows.map(toRow)) found.push({ position: row.position, entry: entryOf(row) });
  const page = found.slice(0, limit);
  // A full page may not be all of it; otherwise what did not fit the filter need not be looked at again.
  const next = page.length === limit ? page.at(-1)?.position : upTo;
  return { entries: page.map(({ entry }) => entry), position: Math.max(next ?? 0, position) };
}

async function* walkRows(view: Session): AsyncGenerator<Walked> {
  for (let position = 0; ; ) {
    const rows = await view.rows(`${ROWS} WHERE position > $1 ORDER BY position LIMIT $2`, [position, PAGE]);
    for (const row of rows.map(toRow)) {
      yield misfiled(row) ?? toStep(row);
      position = row.position;
    }
    if (rows.length < PAGE) return;
  }
}

export function toStep({ position, chain, seq, body, hash }: JournalRow): Walked {
  return { kind: 'entry', where: `row ${position}`, body, hash, found: { chain, seq } };
}

/** Columns that say other than the text would hide an entry from those who look for it. */
export function misfiled(row: JournalRow): Walked | null {
  const where = `row ${row.position}`;
  let entry: Entry;
  try {
    entry = readEntry(row, where);
  } catch {
    return null; // the text itself is no entry, and is told as that
  }
  if (entry.time === row.time && entry.type === row.type && entry.subject === row.subject) return null;
  return { kind: 'damage', where, what: 'it was changed: what it is found by is not what it says' };
}

async function* sealedEntries(
  blobs: Blobs,
  segment: Segment,
  filter: EntryFilter,
): AsyncGenerator<{ position: number; entry: Entry }> {
  const positions = positionsIn(segment.spans);
  for await (const step of readSealed(blobs, segment)) {
    if (step.kind === 'damage') throw damaged(step.where);
    const { value: position } = positions.next();
    if (position === undefined) throw damaged(step.where);
    const entry = readEntry(step, step.where);
    if (fits(entry, filter)) yield { position, entry };
  }
}

async function* readSealed(blobs: Blobs, { file, sha256 }: Segment): AsyncGenerator<Walked> {
  const { missingSegment, readPacked } = await import('../segment-file.ts');
  const content = await blobs.read(sha256);
  if (content === null) yield missingSegment(file);
  else yield* readPacked(content, file, sha256);
}
