import { chainName, type Entry, type EntryFilter } from '../../audit/index.ts';
import { readEntry } from '../journal-rows.ts';
import type { Row, Session, Value } from './database.ts';

/** An outer join: a row whose chain somebody removed is still a row. */
export const ROWS = `SELECT position, name, audit.seq, body, audit.hash, time, type, subject
  FROM audit LEFT JOIN audit_chains ON audit_chains.id = audit.chain`;

export type JournalRow = {
  position: number;
  chain: string;
  seq: number;
  body: string;
  hash: string;
  /** What it is found by. */
  time: number;
  type: string;
  subject: string | null;
};

export function toRow(row: Row): JournalRow {
  return {
    position: Number(row.position),
    chain: String(row.name),
    seq: Number(row.seq),
    body: String(row.body),
    hash: String(row.hash),
    time: Number(row.time),
    type: String(row.type),
    subject: row.subject === null ? null : String(row.subject),
  };
}

export function entryOf(row: JournalRow): Entry {
  return readEntry(row, `row ${row.position}`);
}

/** Positions that follow each other without a gap, and how many they are. */
export type Span = [first: number, count: number];

/** A sealed blob. Its entries have the positions of the spans, one after the other. */
export type Segment = { file: string; sha256: string; spans: Span[] };

/** Those with something after the position, the oldest first. */
export async function segmentsAfter(session: Session, position: number): Promise<Segment[]> {
  const rows = await session.rows(
    'SELECT file, sha256, spans FROM audit_segments WHERE last_position > $1 ORDER BY last_position',
    [position],
  );
  return rows.map(row => ({
    file: String(row.file),
    sha256: String(row.sha256),
    spans: JSON.parse(String(row.spans)) as Span[],
  }));
}

/** Adds a position that comes after all of the spans. */
export function extend(spans: Span[], position: number): void {
  const last = spans.at(-1);
  if (last !== undefined && last[0] + last[1] === position) last[1]++;
  else spans.push([position, 1]);
}

export function* positionsIn(spans: readonly Span[]): Generator<number> {
  for (const [first, count] of spans) for (let at = 0; at < count; at++) yield first + at;
}

/** The filter as a condition on the values from `$first` on, and the order in which the newest are found soonest. */
export function toSql(
  { types, subject, sinceMs, untilMs, tenants, beforeSeq }: EntryFilter,
  store: string,
  first: number,
): { where: string; values: Value[]; newestFirst: string } {
  const chains = tenants?.map(tenant => chainName(store, tenant)) ?? null;
  const [only = null] = chains?.length === 1 ? chains : [];
  const parts: [string, Value][] = [
    ['type = ANY (?)', types],
    ['subject = ?', subject],
    ['time >= ?', sinceMs],
    ['time < ?', untilMs],
    ['chain = (SELECT id FROM audit_chains WHERE name = ?)', only],
    ['name = ANY (?)', only === null ? chains : null],
    ['audit.seq < ?', beforeSeq],
  ];
  const used = parts.filter(([, value]) => value !== null);
  const where = used.map(([sql], at) => sql.replace('?', `$${first + at}`));
  return {
    where: ['TRUE', ...where].join(' AND '),
    values: used.map(([, value]) => value),
    // In one chain both orders are one, and the second has an index.
    newestFirst: only === null ? 'position DESC' : 'audit.seq DESC',
  };
}
