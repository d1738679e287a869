import type { Entry, Head } from './entry.ts';
import type { Actor, AuditEvent, Journal } from './event.ts';

export type EntryFilter = {
  /** null: of every type. */
  types: readonly string[] | null;
  subject: string | null;
  sinceMs: number | null;
  untilMs: number | null;
  /** null: of every tenant, for the operator alone. One of them null: what belongs to no tenant. */
  tenants: readonly (string | null)[] | null;
  /** Those that stand before this one in their chain; for whoever reads one chain page by page. */
  beforeSeq: number | null;
};

/** Entries in the order in which they were written; `position` is where whoever follows goes on from. */
export type Page = { entries: Entry[]; position: number };

/** A journal with its memory, as a store keeps it. */
export interface JournalStore extends Journal {
  /** The store's own name in its chains, made when the store was. */
  readonly id: string;
  /**
   * Appends what only tells of a reading: in its place and under its hash like the rest, but the next full write carries it to
   * the disk. A crash of the machine may lose it, together with all that came after it; a full disk still refuses it.
   */
  note(...events: AuditEvent[]): Promise<void>;
  /** The newest that fit. */
  list(filter: EntryFilter, limit: number): Promise<Page>;
  /** The oldest that fit of those after the position. */
  after(position: number, filter: EntryFilter, limit: number): Promise<Page>;
  /** Every entry as it is kept at this moment, the oldest first, sealed files before the rest. */
  walk(): AsyncIterable<Walked>;
  /** The last entry of every chain. */
  heads(): Promise<Head[]>;
  /** Moves the entries before a time into a sealed file; null when there are none. */
  rotate(beforeMs: number, actor: Actor): Promise<Rotation | null>;
}

/** A step of a walk, unchecked: an entry, or what stands where one should be. `where` says it for people. */
export type Walked = KeptEntry | { kind: 'damage'; where: string; what: string };
export type KeptEntry = {
  kind: 'entry';
  where: string;
  body: string;
  hash: string;
  /** What the store found it by; null in a sealed file, where the text is all there is. */
  found: { chain: string; seq: number } | null;
};

/** `file` is its name, under which the journal knows it; `path` where it lies now. */
export type Rotation = { file: string; path: string; sha256: string; entries: number };

export function fits({ type, subject, time, tenant, seq }: Entry, filter: EntryFilter): boolean {
  return (
    (filter.types === null || filter.types.includes(type)) &&
    (filter.subject === null || filter.subject === subject) &&
    (filter.sinceMs === null || time >= filter.sinceMs) &&
    (filter.untilMs === null || time < filter.untilMs) &&
    (filter.tenants === null || filter.tenants.includes(tenant)) &&
    (filter.beforeSeq === null || seq < filter.beforeSeq)
  );
}
