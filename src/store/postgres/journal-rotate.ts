import {
  type Actor,
  type AuditEvent,
  describeWrong,
  type Head,
  type Rotation,
  toLine,
  Verifier,
} from '../../audit/index.ts';
import { SkillboxError } from '../../base/index.ts';
import type { Blobs } from '../blobs.ts';
import { packLines } from '../segment-file.ts';
import type { Postgres, Session } from './database.ts';
import { misfiled, toStep } from './journal-reader.ts';
import { extend, ROWS, type Span, toRow } from './journal-rows.ts';

type Around = {
  database: Postgres;
  blobs: Blobs;
  store: string;
  actor: Actor;
  settled: () => Promise<number>;
  add: (session: Session, events: readonly AuditEvent[]) => Promise<void>;
};
type Range = { first: number; last: number };
type Sealed = { rotation: Rotation; heads: Head[]; spans: Span[] };

const PAGE = 500;
const NO_NAME = { filename: 'journal.jsonl.gz', contentType: 'application/gzip', seconds: 3600, tenant: null };

/**
 * Old entries go into a blob, and the chains go on from where it ends. The blob is written without holding anybody up:
 * entries never change. Only then, in one transaction, is it noted, told, and are its rows deleted.
 */
export async function rotateJournal(around: Around, beforeMs: number): Promise<Rotation | null> {
  // Nothing may appear among the rows that are deleted after they were written out.
  const upTo = await around.settled();
  const view = await around.database.openView();
  let range: Range | null;
  let sealed: Sealed;
  try {
    range = await findRange(view, beforeMs, upTo);
    if (range === null) return null;
    sealed = await writeRange(view, around, range);
  } finally {
    await view.close();
  }
  const { first, last } = range;
  await around.database.write('full', session => settle(session, around, { first, last }, sealed));
  return sealed.rotation;
}

async function writeRange(view: Session, { blobs, store }: Around, range: Range): Promise<Sealed> {
  const verifier = new Verifier(store, await sealedHeads(view), []);
  const spans: Span[] = [];
  const { sha256 } = await blobs.put(packLines(checkedLines(view, range, verifier, spans)));
  const file = `${range.first}-${range.last}-${sha256.slice(0, 8)}.jsonl.gz`;
  const path = await blobs.url(sha256, { ...NO_NAME, filename: file });
  return { rotation: { file, path, sha256, entries: verifier.entries }, heads: verifier.heads, spans };
}

async function settle(
  session: Session,
  around: Around,
  range: Range,
  { rotation, heads, spans }: Sealed,
): Promise<void> {
  const { first, last } = range;
  const { file, sha256, entries } = rotation;
  // One at a time: the lock on the table lets everybody else read, and nobody else rotate.
  await session.script('LOCK TABLE audit_segments IN SHARE ROW EXCLUSIVE MODE');
  const [row] = await session.rows('SELECT min(position) AS first FROM audit');
  if (row?.first !== first) throw new SkillboxError('CANCELED', 'another process rotated the journal meanwhile');
  await session.change(
    `INSERT INTO audit_segments (first_position, last_position, entries, file, sha256, spans)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [first, last, entries, file, sha256, JSON.stringify(spans)],
  );
  await session.script(`DELETE FROM audit WHERE position <= ${last}`);
  for (const { chain, seq, hash } of heads.toSorted((a, b) => (a.chain < b.chain ? -1 : 1)))
    await session.change(
      'UPDATE audit_chains SET sealed_seq = $1, sealed_hash = $2 WHERE name = $3 AND sealed_seq < $1',
      [seq, hash, chain],
    );
  await around.add(session, [rotatedEvent(around.actor, rotation, heads)]);
}

/** The rows from the first on that are all older; null when there are none, or only the one that tells of a rotation. */
async function findRange(view: Session, beforeMs: number, upTo: number): Promise<Range | null> {
  const [row] = await view.rows(
    `SELECT min(position) AS first, max(position) AS last, max(type) AS type FROM audit
     WHERE position <= $1 AND position < coalesce((SELECT min(position) FROM audit WHERE time >= $2), 9e18::bigint)`,
    [upTo, Math.min(beforeMs, Number.MAX_SAFE_INTEGER)],
  );
  if (typeof row?.first !== 'number' || typeof row.last !== 'number') return null;
  return row.first === row.last && row.type === 'journal.rotated' ? null : { first: row.first, last: row.last };
}

/** Where each chain stands at the end of the blobs that there are. */
async function sealedHeads(view: Session): Promise<Head[]> {
  const rows = await view.rows('SELECT name, sealed_seq, sealed_hash FROM audit_chains');
  return rows.map(row => ({ chain: String(row.name), seq: Number(row.sealed_seq), hash: String(row.sealed_hash) }));
}

/** The lines of the range, each checked on its way: what does not verify is not sealed. */
async function* checkedLines(
  view: Session,
  { last }: Range,
  verifier: Verifier,
  spans: Span[],
): AsyncGenerator<string> {
  for (let at = 0; at < last; ) {
    const rows = await view.rows(`${ROWS} WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3`, [
      at,
      last,
      PAGE,
    ]);
    for (const row of rows.map(toRow)) {
      const wrong = verifier.check(misfiled(row) ?? toStep(row));
      if (wrong !== null)
        throw new SkillboxError('UNREADABLE', `the journal is damaged: ${describeWrong(wrong)}`, {
          hint: 'Run `skillbox audit verify`; a damaged journal is not rotated.',
        });
      at = row.position;
      extend(spans, at);
      yield toLine(row);
    }
  }
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
