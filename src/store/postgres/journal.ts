import { type AuditEvent, chainName, FIRST_PREV, type Head, type JournalStore, seal } from '../../audit/index.ts';
import type { Blobs } from '../blobs.ts';
import type { Postgres, Session } from './database.ts';
import { createJournalReader } from './journal-reader.ts';

/** The journal in PostgreSQL. `add` is for those who change something else in the same transaction. */
export type PostgresJournal = JournalStore & {
  /** The last thing that a transaction does: others of the tenant wait until it is committed. */
  add(session: Session, events: readonly AuditEvent[]): Promise<void>;
};

type ChainHead = Head & { id: number };

/** Positions are below this; above it stand some bits of the store's name, so that two stores' locks are not mixed up. */
const POSITION_BITS = 40n;

/**
 * One chain for each tenant. Whoever appends to it has locked its row from reading the head to the commit: a chain cannot
 * fork, whatever processes there are, and an entry that was answered cannot be lost.
 */
export async function createPostgresJournal(database: Postgres, blobs: Blobs): Promise<PostgresJournal> {
  const [row] = await database.rows('SELECT id FROM audit_store');
  const store = String(row?.id);
  const base = String(BigInt(`0x${store.slice(0, 5)}`) << POSITION_BITS);
  const add = async (session: Session, events: readonly AuditEvent[]): Promise<void> => {
    const heads = await lockHeads(session, new Set(events.map(({ tenant }) => chainName(store, tenant))));
    for (const event of events) {
      const head = heads.get(chainName(store, event.tenant));
      if (head !== undefined) heads.set(head.chain, await addOne(session, base, event, head));
    }
  };
  const reader = createJournalReader(database, { blobs, store, base });
  return {
    id: store,
    add,
    append: (...events) => database.write('full', session => add(session, events)),
    note: (...events) => database.write('later', session => add(session, events)),
    ...reader,
    async rotate(beforeMs, actor) {
      const { rotateJournal } = await import('./journal-rotate.ts');
      return rotateJournal({ database, blobs, store, add, actor, settled: reader.settled }, beforeMs);
    },
  };
}

/** In one order for everybody, so that two who need the same chains never wait for each other. */
async function lockHeads(session: Session, chains: ReadonlySet<string>): Promise<Map<string, ChainHead>> {
  const heads = new Map<string, ChainHead>();
  for (const chain of [...chains].sort()) heads.set(chain, await lockHead(session, chain));
  return heads;
}

async function lockHead(session: Session, chain: string): Promise<ChainHead> {
  const find = () => session.rows('SELECT id, seq, hash FROM audit_chains WHERE name = $1 FOR UPDATE', [chain]);
  let [row] = await find();
  if (row === undefined) {
    await session.change(
      `INSERT INTO audit_chains (name, seq, hash, sealed_seq, sealed_hash) VALUES ($1, 0, $2, 0, $2)
       ON CONFLICT (name) DO NOTHING`,
      [chain, FIRST_PREV],
    );
    [row] = await find();
  }
  return { id: Number(row?.id), chain, seq: Number(row?.seq), hash: String(row?.hash) };
}

/** The lock comes before the position, as audit_settled relies on; a part of a statement that is asked first is one. */
const APPEND = `
  WITH locked AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared($1::bigint + last_value) FROM audit_positions),
  told AS (
    INSERT INTO audit (position, chain, seq, body, hash, time, type, subject)
    SELECT nextval('audit_positions'), $2, $3, $4, $5, $6, $7, $8 FROM locked)
  UPDATE audit_chains SET seq = $3, hash = $5 WHERE id = $2`;

async function addOne(session: Session, base: string, event: AuditEvent, head: ChainHead): Promise<ChainHead> {
  const time = Date.now();
  const { seq, body, hash } = seal(event, head, time);
  await session.change(APPEND, [base, head.id, seq, body, hash, time, event.type, event.subject]);
  return { ...head, seq, hash };
}
