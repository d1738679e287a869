import {
  ALWAYS,
  type AnswerChange,
  type AnswerRow,
  type AnswerRows,
  type SealRow,
  STANDING,
  type Written,
} from '../answers.ts';
import type { Postgres, Row, Session, Value } from './database.ts';
import type { PostgresJournal } from './journal.ts';
import { applyRun } from './runs.ts';

const COLUMNS = 'id, binding, refusal, origin, created_at, body, mac';
/** As many as are ever looked at: the newest decide. */
const MAX_FOUND = 50;
const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC';

/** Takes everything back that the transaction has written. */
class Refused extends Error {
  readonly why: Written;
  constructor(why: Written) {
    super(why);
    this.why = why;
  }
}

/** Answers of one tenant in PostgreSQL. What they are worth is for whoever sealed them to say. */
export function createAnswerRows(database: Postgres, journal: PostgresJournal, tenant: string | null): AnswerRows {
  const owner = tenant ?? '';
  const select = async (where: string, values: Value[]): Promise<AnswerRow[]> =>
    (await database.rows(`SELECT ${COLUMNS} FROM answers WHERE tenant = $1 ${where}`, [owner, ...values])).map(toRow);
  return {
    byBinding: binding =>
      select(`AND binding = $2 ORDER BY strpos(body, $3) > 0 DESC, created_at DESC, id DESC LIMIT ${MAX_FOUND}`, [
        binding,
        ALWAYS,
      ]),
    byOrigin: origin => select(`AND origin = $2 ${NEWEST_FIRST} LIMIT ${MAX_FOUND}`, [origin]),
    byIds: ids => select('AND id = ANY ($2)', [ids]),
    isEmpty: async () => (await database.rows('SELECT 1 FROM answers WHERE tenant = $1 LIMIT 1', [owner])).length === 0,
    list: limit => select(`${NEWEST_FIRST} LIMIT $2`, [limit]),
    standing: () => select(`AND (strpos(body, $2) > 0 OR strpos(body, $3) > 0) ${NEWEST_FIRST}`, [...STANDING]),
    async seal() {
      const [row] = await database.rows('SELECT version, body, mac FROM answers_seal WHERE tenant = $1', [owner]);
      return row === undefined ? null : { version: Number(row.version), body: String(row.body), mac: String(row.mac) };
    },
    async write(change) {
      try {
        return await database.write('full', session => writeChange(session, journal, owner, change));
      } catch (error) {
        if (error instanceof Refused) return error.why;
        throw error;
      }
    },
    async clear(events) {
      await database.write('full', async session => {
        await session.change('DELETE FROM answers_seal WHERE tenant = $1', [owner]);
        await session.change('DELETE FROM answers WHERE tenant = $1', [owner]);
        await journal.add(session, events);
      });
    },
  };
}

async function writeChange(
  session: Session,
  journal: PostgresJournal,
  owner: string,
  { rows, seal, run, events }: AnswerChange,
): Promise<Written> {
  if (!(await replaceSeal(session, owner, seal))) throw new Refused('stale');
  if (run !== null && !(await applyRun(session, run))) throw new Refused('settled');
  for (const { id, binding, refusal, origin, createdAt, body, mac } of rows)
    await session.change(
      `INSERT INTO answers (tenant, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (tenant, id) DO UPDATE SET binding = $3, refusal = $4, origin = $5, created_at = $6, body = $7, mac = $8`,
      [owner, id, binding, refusal, origin, createdAt, body, mac],
    );
  await journal.add(session, events);
  return 'written';
}

/** First of all: others wait here until this one is committed, and then find that theirs is not the next. */
async function replaceSeal(session: Session, owner: string, { version, body, mac }: SealRow): Promise<boolean> {
  const changed =
    version === 1
      ? await session.change(
          `INSERT INTO answers_seal (tenant, version, body, mac) VALUES ($1, 1, $2, $3) ON CONFLICT (tenant) DO NOTHING`,
          [owner, body, mac],
        )
      : await session.change(
          'UPDATE answers_seal SET version = $2, body = $3, mac = $4 WHERE tenant = $1 AND version = $2 - 1',
          [owner, version, body, mac],
        );
  return changed === 1;
}

function toRow(row: Row): AnswerRow {
  return {
    id: String(row.id),
    binding: String(row.binding),
    refusal: String(row.refusal),
    origin: String(row.origin),
    createdAt: Number(row.created_at),
    body: String(row.body),
    mac: String(row.mac),
  };
}
