import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson, type Entry, openAudit, type Wrong } from '../../src/audit/index.ts';
import type { JsonObject } from '../../src/base/index.ts';
import { openStore } from '../../src/store/index.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent } from '../support/events.ts';
import { breaksJournal, verifyJournal } from '../support/journals.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const ACTOR = { id: 'uid:1000', channel: 'terminal' };
const COUNT = 16;
type Row = { position: number; chain: number; seq: number; body: string; hash: string; name: string };

/** Made once: entries of two chains, all in one file, and a checkpoint over them. */
let master: string;
let checkpoint: string;
let rows: Row[];

beforeAll(async () => {
  master = tempDir('tamper');
  const store = openStore(master, WRITER);
  for (let at = 0; at < COUNT; at++)
    await store.journal.append(
      newEvent({ tenant: at % 4 === 1 ? 'other' : null, subject: `s${at}`, data: { at, text: 'é✓' } }),
    );
  const audit = openAudit(store.journal, join(master, 'audit'));
  checkpoint = JSON.stringify(await audit.checkpoint(ACTOR));
  await store.close();
  const database = new DatabaseSync(join(master, 'skillbox.db'));
  // Everything in the one file, so that a copy of it is all of it.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  rows = database
    .prepare(
      'SELECT position, chain, seq, body, hash, name FROM audit JOIN audit_chains ON audit_chains.id = chain ORDER BY position',
    )
    .all() as Row[];
  database.close();
});

/** What an attacker with the database does who knows of the triggers. */
function attack(change: (database: DatabaseSync) => void): string {
  const directory = breaksJournal(tempDir('tampered'));
  cpSync(master, directory, { recursive: true });
  const database = new DatabaseSync(join(directory, 'skillbox.db'));
  database.exec(`DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted; DROP INDEX audit_by_chain`);
  change(database);
  database.close();
  return directory;
}

async function wrongAfter(
  change: (database: DatabaseSync) => void,
  against: string | null = null,
): Promise<Wrong | null> {
  return (await verifyJournal(attack(change), against)).wrong;
}

const rowAt = (at: number): Row => rows[at] as Row;
const named = ({ name, seq }: Row) => ({ chain: name, seq });
/** Entries that others of their chain follow. */
const inner = () => rows.filter(row => rows.some(other => other.chain === row.chain && other.seq > row.seq));
const anyRow = fc.nat().map(at => rowAt(at % rows.length));
const anyInner = fc.nat().map(at => inner()[at % inner().length] as Row);
const set =
  (column: 'body' | 'hash' | 'seq' | 'chain', value: string | number, { position }: Row) =>
  (database: DatabaseSync) =>
    void database.prepare(`UPDATE audit SET ${column} = ? WHERE position = ?`).run(value, position);

const run = <T>(given: fc.Arbitrary<T>, body: (value: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(given, body), { numRuns: 60 });

describe('tampering with the journal', () => {
  test('as it is, it verifies, with and without the checkpoint', async () => {
    expect(rows).toHaveLength(COUNT + 2);
    expect(await wrongAfter(() => undefined)).toBeNull();
    expect(await wrongAfter(() => undefined, checkpoint)).toBeNull();
  });

  test('any character of any entry', () =>
    run(
      fc.tuple(anyRow, fc.nat(), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })),
      async ([row, at, other]) => {
        const place = at % row.body.length;
        const body = row.body.slice(0, place) + other + row.body.slice(place + 1);
        fc.pre(body.toWellFormed() !== row.body);
        expect(await wrongAfter(set('body', body, row))).toMatchObject(named(row));
      },
    ));

  test('any member of any entry, to another value', () =>
    run(fc.tuple(anyRow, fc.nat(), fc.jsonValue()), async ([row, at, value]) => {
      const entry = JSON.parse(row.body) as JsonObject;
      const names = Object.keys(entry);
      const body = JSON.stringify({ ...entry, [names[at % names.length] ?? '']: value });
      fc.pre(body !== row.body);
      expect(await wrongAfter(set('body', body, row))).toMatchObject(named(row));
    }));

  test('any hash', () =>
    run(fc.tuple(anyRow, fc.nat(63)), async ([row, at]) => {
      const digit = row.hash[at] === '0' ? '1' : '0';
      const hash = row.hash.slice(0, at) + digit + row.hash.slice(at + 1);
      expect(await wrongAfter(set('hash', hash, row))).toMatchObject(named(row));
    }));

  test('any place: number or chain', () =>
    run(fc.tuple(anyRow, fc.integer({ min: -2, max: COUNT + 5 })), async ([row, seq]) => {
      fc.pre(seq !== row.seq);
      expect((await wrongAfter(set('seq', seq, row)))?.where).toBe(`row ${row.position}`);
      expect((await wrongAfter(set('chain', 3 - row.chain, row)))?.where).toBe(`row ${row.position}`);
    }));

  test.each([
    ['a chain is forgotten', 'PRAGMA foreign_keys = OFF; DELETE FROM audit_chains WHERE id = 1', 1],
    ['all chains are forgotten', 'PRAGMA foreign_keys = OFF; DELETE FROM audit_chains', 1],
    ['a chain gets another name', "UPDATE audit_chains SET name = name || '/x' WHERE id = 2", 2],
    ['the store gets another name', "UPDATE audit_store SET id = 'x'", 1],
  ])('%s', async (_what, sql, position) => {
    expect((await wrongAfter(database => database.exec(sql)))?.where).toBe(`row ${position}`);
  });

  test.each(['not json', 'null', '[]', '{}', { time: 9e15 }, { actor: null }, { data: [] }, { subject: 7 }])(
    'an entry that is none any more, %j, is named by whoever reads it, also with a hash that fits',
    async change => {
      const row = rowAt(COUNT - 1);
      const body = typeof change === 'string' ? change : forge(row, change as unknown as Partial<Entry>).body;
      const directory = attack(database => {
        set('body', body, row)(database);
        set('hash', createHash('sha256').update(body).digest('hex'), row)(database);
      });
      expect((await verifyJournal(directory)).wrong).toMatchObject(named(row));
      const store = openStore(directory, WRITER);
      const audit = openAudit(store.journal, join(directory, 'audit'));
      const damaged = { code: 'UNREADABLE', message: expect.stringContaining(`row ${row.position}`) };
      await expect(audit.list(ALL, 9)).rejects.toMatchObject(damaged);
      const exported = async () => {
        for await (const _ of audit.export(ALL));
      };
      await expect(exported()).rejects.toMatchObject(damaged);
      await store.close();
    },
  );

  test('an entry changed together with its own hash', () =>
    run(anyInner, async row => {
      const [next] = rows.filter(({ chain, seq }) => chain === row.chain && seq === row.seq + 1) as [Row];
      const forged = forge(row, { subject: 'forged' });
      const wrong = await wrongAfter(database => {
        set('body', forged.body, row)(database);
        set('hash', forged.hash, row)(database);
      });
      // The entry itself fits its hash: the one after it shows that it is another.
      expect(wrong).toMatchObject(named(next));
    }));

  test('deleting any run of entries but the last of a chain', () =>
    run(fc.tuple(anyInner, fc.integer({ min: 1, max: 4 })), async ([row, count]) => {
      const gone = rows.filter(({ chain, seq }) => chain === row.chain && seq >= row.seq && seq < row.seq + count);
      const left = rows.some(({ chain, seq }) => chain === row.chain && seq >= row.seq + count);
      fc.pre(left);
      const remove = (database: DatabaseSync) => {
        for (const { position } of gone) database.prepare('DELETE FROM audit WHERE position = ?').run(position);
      };
      expect(await wrongAfter(remove)).toMatchObject({ ...named(row), what: expect.stringContaining('missing') });
    }));

  test('swapping any two entries of a chain, by content or by position', () =>
    run(fc.tuple(anyRow, anyRow), async ([one, two]) => {
      fc.pre(one.chain === two.chain && one.position !== two.position);
      const first = one.position < two.position ? one : two;
      const content = (database: DatabaseSync) => {
        for (const [at, from] of [
          [one, two],
          [two, one],
        ] as const) {
          set('body', from.body, at)(database);
          set('hash', from.hash, at)(database);
        }
      };
      expect(await wrongAfter(content)).toMatchObject(named(first));
      const whole = (database: DatabaseSync) => {
        const move = database.prepare('UPDATE audit SET position = ? WHERE position = ?');
        move.run(1000, one.position);
        move.run(one.position, two.position);
        move.run(two.position, 1000);
      };
      expect(await wrongAfter(whole)).toMatchObject(named(first));
    }));

  test('repeating any entry, anywhere after it', () =>
    run(anyRow, async row => {
      const repeat = (database: DatabaseSync) =>
        void database
          .prepare('INSERT INTO audit (chain, seq, body, hash) VALUES (?, ?, ?, ?)')
          .run(row.chain, row.seq, row.body, row.hash);
      expect(await wrongAfter(repeat)).toMatchObject({ ...named(row), what: expect.stringContaining('inserted') });
    }));

  test('inserting a well-made entry after any other', () =>
    run(anyInner, async row => {
      const forged = forge(row, { seq: row.seq + 1, prev: row.hash, subject: 'forged' });
      const insert = (database: DatabaseSync) => {
        database.exec(`UPDATE audit SET position = -position WHERE position > ${row.position};
          UPDATE audit SET position = 1 - position WHERE position < 0`);
        database
          .prepare('INSERT INTO audit (position, chain, seq, body, hash) VALUES (?, ?, ?, ?, ?)')
          .run(row.position + 1, row.chain, row.seq + 1, forged.body, forged.hash);
      };
      expect(await wrongAfter(insert)).toMatchObject({ chain: row.name, seq: row.seq + 1 });
    }));

  test('cutting off the end is seen against the checkpoint only', () =>
    run(fc.integer({ min: 1, max: COUNT }), async count => {
      const cut = (database: DatabaseSync) => database.exec(`DELETE FROM audit WHERE position > ${count}`);
      expect(await wrongAfter(cut)).toBeNull();
      const wrong = await wrongAfter(cut, checkpoint);
      const lost = rows.filter(({ position }) => position > count && position <= COUNT + 1).map(named);
      expect(wrong?.what).toMatch(/missing/);
      expect(lost).toContainEqual({ chain: wrong?.chain, seq: wrong?.seq });
    }));

  test('a chain that was written anew from some entry on is seen against the checkpoint only', () =>
    run(anyInner, async row => {
      const rewrite = (database: DatabaseSync) => {
        let prev = (JSON.parse(row.body) as Entry).prev;
        for (const each of rows.filter(({ chain, seq }) => chain === row.chain && seq >= row.seq)) {
          const forged = forge(each, { prev, ...(each === row ? { subject: 'forged' } : {}) });
          set('body', forged.body, each)(database);
          set('hash', forged.hash, each)(database);
          prev = forged.hash;
        }
      };
      expect(await wrongAfter(rewrite)).toBeNull();
      expect((await wrongAfter(rewrite, checkpoint))?.what).toMatch(/checkpoint saw/);
    }));

  test('a store rolled back, or another one in its place, is seen against the checkpoint', async () => {
    const other = tempDir('other-store');
    const store = openStore(other, WRITER);
    await store.journal.append(newEvent());
    await store.close();
    cpSync(join(master, 'audit'), join(other, 'audit'), { recursive: true });
    expect((await verifyJournal(other, checkpoint)).wrong?.what).toMatch(/of the store/);
  });

  test('any bit of the file in which an entry stands', () => {
    const file = readFileSync(join(master, 'skillbox.db'));
    return run(fc.tuple(anyRow, fc.nat(), fc.nat(7)), async ([row, at, bit]) => {
      const text = Buffer.from(row.body + row.hash);
      const flipped = Buffer.from(file);
      // Pages that were split keep dead copies of their rows; the living one is among those that are flipped.
      const starts = placesOf(text, file);
      expect(starts).not.toEqual([]);
      for (const start of starts) {
        const place = start + (at % text.length);
        flipped[place] = (flipped[place] ?? 0) ^ (1 << bit);
      }
      const directory = breaksJournal(tempDir('flipped'));
      writeFileSync(join(directory, 'skillbox.db'), flipped, { mode: 0o600 });
      expect((await verifyJournal(directory)).wrong).toMatchObject(named(row));
    });
  });
});

/** The entry with other members and the hash that fits them. */
function forge(row: Row, changes: Partial<Entry>): { body: string; hash: string } {
  const body = canonicalJson({ ...(JSON.parse(row.body) as JsonObject), ...changes });
  return { body, hash: createHash('sha256').update(body).digest('hex') };
}

function placesOf(text: Buffer, file: Buffer): number[] {
  const places: number[] = [];
  for (let at = file.indexOf(text); at !== -1; at = file.indexOf(text, at + 1)) places.push(at);
  return places;
}
