import type { DatabaseSync } from 'node:sqlite';
import { chainName, type Entry, type EntryFilter, openEntry } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';

/** An outer join: a row whose chain somebody removed is still a row. */
export const ROWS = `SELECT position, name, seq, body, hash FROM audit LEFT JOIN audit_chains ON audit_chains.id = audit.chain`;

export type Row = { position: number; chain: string; seq: number; body: string; hash: string };

export function toRow(row: Record<string, unknown>): Row {
  return {
    position: Number(row.position),
    chain: String(row.name),
    seq: Number(row.seq),
    body: String(row.body),
    hash: String(row.hash),
  };
}

/** A sealed file, and the position of its first entry; the others follow it without a gap. */
export type Segment = { file: string; sha256: string; first: number };

/** Those with something after the position, the oldest first. */
export function segmentsAfter(view: DatabaseSync, position: number): Segment[] {
  return view
    .prepare('SELECT file, sha256, first_position FROM audit_segments WHERE last_position > ? ORDER BY last_position')
    .all(position)
    .map(row => ({ file: String(row.file), sha256: String(row.sha256), first: Number(row.first_position) }));
}

/** The filter as a condition with its values, and the order in which the newest are found soonest. */
export function toSql(
  { types, subject, sinceMs, untilMs, tenants, beforeSeq }: EntryFilter,
  store: string,
): { where: string; values: (string | number)[]; newestFirst: string } {
  const chains = tenants?.map(tenant => chainName(store, tenant)) ?? null;
  const [only = null] = chains?.length === 1 ? chains : [];
  const parts: [string, string | number | null][] = [
    ['type IN (SELECT value FROM json_each(?))', types === null ? null : JSON.stringify(types)],
    ['subject = ?', subject],
    ['time >= ?', sinceMs],
    ['time < ?', untilMs],
    ['chain = (SELECT id FROM audit_chains WHERE name = ?)', only],
    ['name IN (SELECT value FROM json_each(?))', chains === null || only !== null ? null : JSON.stringify(chains)],
    ['seq < ?', beforeSeq],
  ];
  const used = parts.filter((part): part is [string, string | number] => part[1] !== null);
  return {
    where: ['TRUE', ...used.map(([sql]) => sql)].join(' AND '),
    values: used.map(([, value]) => value),
    // In one chain both orders are one, and the second has an index.
    newestFirst: only === null ? 'position DESC' : 'seq DESC',
  };
}

/** The entry, for those who read; what is no entry any more is told as that. */
export function readEntry(kept: { body: string; hash: string }, where: string): Entry {
  try {
    return openEntry(kept);
  } catch (cause) {
    throw damaged(where, cause);
  }
}

export function damaged(where: string, cause?: unknown): SkillboxError {
  return new SkillboxError('UNREADABLE', `the journal is damaged at ${where}`, {
    hint: 'Run `skillbox audit verify`.',
    cause,
  });
}
