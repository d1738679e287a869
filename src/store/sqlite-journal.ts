import { type AuditEvent, chainName, FIRST_PREV, type Head, type JournalStore, seal } from '../audit/index.ts';
import type { Database } from './database.ts';
import { createJournalReader } from './journal-reader.ts';

/** The journal in SQLite. `add` is for those who change something else in the same transaction. */
export type SqliteJournal = JournalStore & {
  /** Only inside `Database.write`: the head that it reads must still be the head when it is committed. */
  add(events: readonly AuditEvent[]): void;
};

type ChainHead = Head & { id: number };

/**
 * One chain for each tenant. SQLite lets one transaction write at a time, whatever processes there are, and the head is read
 * inside it: a chain cannot fork, and an entry that was answered cannot be lost.
 */
export function createSqliteJournal(database: Database, directory: string): SqliteJournal {
  const store = String(database.prepare('SELECT id FROM audit_store').get()?.id);
  const add = (events: readonly AuditEvent[]): void => {
    const insert = database.prepare('INSERT INTO audit (chain, seq, body, hash) VALUES (?, ?, ?, ?)');
    let head: ChainHead | null = null;
    for (const event of events) {
      const chain = chainName(store, event.tenant);
      if (head?.chain !== chain) head = headOf(database, chain);
      const { seq, body, hash } = seal(event, head, Date.now());
      insert.run(head.id, seq, body, hash);
      head = { ...head, seq, hash };
    }
  };
  return {
    id: store,
    add,
    append: async (...events) => database.write('full', () => add(events)),
    note: async (...events) => database.write('later', () => add(events)),
    ...createJournalReader(database, directory, store),
    async rotate(beforeMs, actor) {
      const { rotateJournal } = await import('./journal-rotate.ts');
      return rotateJournal({ database, directory, store, add, actor }, beforeMs);
    },
  };
}

function headOf(database: Database, name: string): ChainHead {
  const { id, seq, hash } = chainOf(database, name);
  const last = database.prepare('SELECT seq, hash FROM audit WHERE chain = ? ORDER BY seq DESC LIMIT 1').get(id);
  return last === undefined
    ? { id, chain: name, seq, hash }
    : { id, chain: name, seq: Number(last.seq), hash: String(last.hash) };
}

/** Where the sealed files of the chain end; the beginning of a new chain when there is none. */
function chainOf(database: Database, name: string): { id: number; seq: number; hash: string } {
  const find = () => database.prepare('SELECT id, sealed_seq, sealed_hash FROM audit_chains WHERE name = ?').get(name);
  let row = find();
  if (row === undefined) {
    database.prepare('INSERT INTO audit_chains (name, sealed_seq, sealed_hash) VALUES (?, 0, ?)').run(name, FIRST_PREV);
    row = find();
  }
  return { id: Number(row?.id), seq: Number(row?.sealed_seq), hash: String(row?.sealed_hash) };
}
