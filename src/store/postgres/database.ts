import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SkillboxError } from '../../base/index.ts';
import type { Durability } from '../store.ts';
import { isBroken, isConflict, isLost, translate } from './faults.ts';
import { withNul, withoutNul } from './nul.ts';

export type PostgresSettings = {
  /** How many connections this process may have. */
  connections: number;
  /** How long a connection, or a place in the pool, is waited for. */
  connectTimeoutMs: number;
  /** How long one statement may take. */
  statementTimeoutMs: number;
  /** Where the tables are; made when it is not there. null: as the URL or the database says. */
  schema: string | null;
  /** PEM. With it TLS is required, and the server must have a certificate of this authority. null: as the URL says. */
  ca: string | null;
};

export type Value = string | number | boolean | Buffer | null | readonly string[] | readonly number[];
export type Cell = string | number | boolean | Buffer | string[] | null;
export type Row = Record<string, Cell>;
type Query = pg.QueryConfig<unknown[]> & { query_timeout?: number };

/** What can be asked, inside a transaction or outside of one. */
export type Session = {
  rows(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** How many rows it changed. */
  change(sql: string, values?: readonly Value[]): Promise<number>;
  /** Statements without values, one after the other. They may take long, and the rest of the transaction after them. */
  script(sql: string): Promise<void>;
};

/** How long a change waits for those of others. */
const LOCK_TIMEOUT_MS = 10_000;
/** A process that was stopped in the middle holds nobody up for longer. */
const IDLE_TIMEOUT_MS = 30_000;
/** Whoever reads all of the journal may take their time between two pages. */
const VIEW_IDLE_TIMEOUT = '10min';
/** For migrations and rotations. */
const PATIENCE_MS = 600_000;
const MAX_ATTEMPTS = 8;
const MAX_PAUSE_MS = 50;
/** How many dead connections are put up with. */
const MAX_CONNECTS = 3;
/** As PostgreSQL numbers its types. */
const INT8 = 20;
const TEXT = 25;
const TEXTS = 1009;

/** A PostgreSQL database through a pool. Any number of processes may share it. */
export class Postgres implements Omit<Session, 'script'> {
  readonly #pool: pg.Pool;
  readonly #names = new Map<string, string>();
  #closing: Promise<void> | null = null;

  constructor(url: string, settings: PostgresSettings) {
    this.#pool = new pg.Pool({
      ...target(url, settings),
      max: settings.connections,
      connectionTimeoutMillis: settings.connectTimeoutMs,
      statement_timeout: settings.statementTimeoutMs,
      // The server should be the one to give up; when it cannot say so any more, the driver is.
      query_timeout: settings.statementTimeoutMs + 5_000,
      lock_timeout: Math.min(LOCK_TIMEOUT_MS, settings.statementTimeoutMs),
      idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
      keepAlive: true,
      fallback_application_name: 'skillbox',
      types: { getTypeParser: typeParser },
    });
    // A connection that is lost while nobody uses it is told to whoever asks next.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', client => void client.on('error', () => undefined));
  }

  /** A question outside of a transaction, asked again on another connection when the first one turns out to be dead. */
  async rows(sql: string, values?: readonly Value[]): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#use(client => this.#sessionOf(client).rows(sql, values));
      } catch (error) {
        if (!isLost(error) || attempt === MAX_CONNECTS) throw error;
      }
    }
  }

  /** A change of its own. Nobody knows what became of it when the connection is lost meanwhile, so it is tried once. */
  async change(sql: string, values?: readonly Value[]): Promise<number> {
    return this.write('full', session => session.change(sql, values));
  }

  /**
   * All of the body or nothing. Each statement sees what others have committed before it; what must hold until the end is
   * locked. The body is run again when it lost against another transaction, so it changes nothing but the database.
   */
  async write<T>(durability: Durability, body: (session: Session) => Promise<T>): Promise<T> {
    const begin = durability === 'full' ? 'BEGIN' : 'BEGIN; SET LOCAL synchronous_commit = off';
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#transaction(begin, body);
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
        await sleep(Math.random() * MAX_PAUSE_MS * attempt);
      }
    }
  }

  /** Everything as it is at the first question; it neither waits for writers nor holds them up. */
  async view<T>(body: (session: Session) => Promise<T>): Promise<T> {
    return this.#transaction(BEGIN_VIEW, body);
  }

  /** As `view`, for those who read on and on. Close it. */
  async openView(): Promise<Session & { close(): Promise<void> }> {
    const client = await this.#begin(BEGIN_VIEW);
    return { ...this.#sessionOf(client), close: () => rollBack(client) };
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (cause) {
      throw translate(cause);
    }
  }

  async #use<T>(body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let broken = false;
    try {
      return await body(client);
    } catch (error) {
      broken = isBroken(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** A connection with a transaction on it. Nothing has been asked before, so another one does as well as a dead one. */
  async #begin(begin: string): Promise<pg.PoolClient> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connect();
      try {
        await run(client, begin);
        return client;
      } catch (error) {
        client.release(true);
        if (!isLost(error) || attempt === MAX_CONNECTS) throw error;
      }
    }
  }

  async #transaction<T>(begin: string, body: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#begin(begin);
    let answer: T;
    try {
      answer = await body(this.#sessionOf(client));
      const { command } = await run(client, 'COMMIT');
      if (command !== 'COMMIT') throw new SkillboxError('INTERNAL', 'a transaction with a fault in it was to be kept');
    } catch (error) {
      if (isBroken(error)) client.release(true);
      else await rollBack(client);
      throw error;
    }
    client.release();
    return answer;
  }

  #sessionOf(client: pg.PoolClient): Session {
    const ask = (text: string, values: readonly Value[]) =>
      run(client, { name: this.#nameOf(text), text, values: values.map(toText) });
    return {
      rows: async (sql, values = []) => (await ask(sql, values)).rows,
      change: async (sql, values = []) => (await ask(sql, values)).rowCount ?? 0,
      script: async text => void (await run(client, { text: `${PATIENTLY}; ${text}`, query_timeout: PATIENCE_MS })),
    };
  }

  /** Prepared once on each connection. Every text is a constant of ours, so there are not many. */
  #nameOf(sql: string): string {
    const name = this.#names.get(sql) ?? `skillbox-${this.#names.size}`;
    this.#names.set(sql, name);
    return name;
  }
}

/** What the settings say counts before what the URL says: the driver would have it the other way round. */
function target(text: string, { schema, ca }: PostgresSettings): pg.PoolConfig {
  const url = parseUrl(text);
  if (schema !== null) url.searchParams.set('options', `-c search_path=${requireName(schema)}`);
  if (ca === null) return { connectionString: url.href };
  const said = Array.from(url.searchParams.keys()).filter(name => name.startsWith('ssl'));
  for (const name of said) url.searchParams.delete(name);
  return { connectionString: url.href, ssl: { ca } };
}

function parseUrl(text: string): URL {
  // What is wrong with it is not repeated: the password stands in it.
  if (!URL.canParse(text) || !/^postgres(ql)?:\/\//.test(text))
    throw new SkillboxError('CONFIG_INVALID', 'the address of the database is no URL of PostgreSQL', {
      hint: 'It looks like postgres://user:password@host:5432/database.',
    });
  return new URL(text);
}

export function requireName(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return schema;
  throw new SkillboxError('CONFIG_INVALID', 'the name of the schema is no lower-case identifier');
}

const PATIENTLY = `SET LOCAL lock_timeout = ${PATIENCE_MS}; SET LOCAL statement_timeout = ${PATIENCE_MS}`;
const BEGIN_VIEW = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = '${VIEW_IDLE_TIMEOUT}'`;

/** The fault that led here is the one to tell; a connection that cannot even do this is given up. */
async function rollBack(client: pg.PoolClient): Promise<void> {
  const broken = await client.query('ROLLBACK').then(
    () => false,
    () => true,
  );
  client.release(broken);
}

async function run(client: pg.PoolClient, query: string | Query): Promise<pg.QueryResult<Row>> {
  try {
    return await client.query<Row>(query);
  } catch (cause) {
    throw translate(cause);
  }
}

function toText(value: Value): unknown {
  if (typeof value === 'string') return withoutNul(value);
  return Array.isArray(value) ? value.map((each: string | number) => toText(each)) : value;
}

/**
 * Counts and times are numbers here as everywhere; one that is too large for that would be ours to notice. Only for the
 * connections of this pool: others in the process may read them as they like.
 */
function typeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === INT8) return toNumber;
  if (oid === TEXT) return withNul;
  const parse = pg.types.getTypeParser(oid, 'text') as (text: string) => unknown;
  if (oid === TEXTS) return text => (parse(text) as string[]).map(withNul);
  return format === 'binary' ? (pg.types.getTypeParser(oid, 'binary') as (text: string) => unknown) : parse;
}

function toNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new SkillboxError('INTERNAL', `the number ${text} is too large`);
  return number;
}
