import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openAudit } from '../../src/audit/index.ts';
import type { Store } from '../../src/store/index.ts';
import { withNul, withoutNul } from '../../src/store/postgres/nul.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent, TESTER } from '../support/events.ts';
import { clearPlaces, newPlace, noPostgres, type Place } from '../support/postgres.ts';
import { tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const EVERYTHING = Number.MAX_SAFE_INTEGER;
const verify = (store: Store) => openAudit(store.journal, '/nowhere').verify(null, null);
const subjectsOf = (page: { entries: { subject: string | null }[] }) => page.entries.map(({ subject }) => subject);

async function filled(count: number): Promise<{ place: Place; store: Store }> {
  const place = await newPlace();
  const store = await place.open();
  for (let at = 0; at < count; at++)
    await store.journal.append(newEvent({ data: { at }, tenant: at % 3 ? null : 't' }));
  return { place, store };
}

/** As somebody does who has the rights: the triggers are for our own mistakes. */
const tamper = (place: Place, sql: string) =>
  place.sql(`ALTER TABLE audit DISABLE TRIGGER ALL; ${sql}; ALTER TABLE audit ENABLE TRIGGER ALL`);

describe.skipIf(noPostgres !== null)('the journal in PostgreSQL', () => {
  it.each([
    'UPDATE audit SET body = body',
    'UPDATE audit SET seq = seq + 100',
    'DELETE FROM audit WHERE position = 2',
    'DELETE FROM audit',
    'TRUNCATE audit',
    'UPDATE audit_segments SET entries = 0',
    'DELETE FROM audit_segments',
    'TRUNCATE audit_segments',
  ])('append-only also for our own mistakes: %s', async sql => {
    const { place, store } = await filled(5);
    if (sql.includes('segments')) await store.journal.rotate(EVERYTHING, TESTER);
    await expect(place.sql(sql)).rejects.toThrow(/append-only/);
    expect((await verify(store)).wrong).toBeNull();
  });

  it.each([
    ['a changed text', `UPDATE audit SET body = replace(body, 'policy', 'Policy') WHERE position = 4`, /changed/],
    ['a removed row', 'DELETE FROM audit WHERE position = 2', /missing/],
    ['a subject that hides it', `UPDATE audit SET subject = 'x' WHERE position = 3`, /found by/],
    ['a type that hides it', `UPDATE audit SET type = 'x' WHERE position = 3`, /found by/],
    ['a time that hides it', 'UPDATE audit SET time = 1 WHERE position = 3', /found by/],
    [
      'a chain that is not its own',
      'UPDATE audit SET chain = 3 - chain, seq = 100 WHERE position = 3',
      /another entry/,
    ],
  ])('finds %s, and does not seal it', async (_what, sql, said) => {
    const { place, store } = await filled(6);
    await tamper(place, sql);
    expect((await verify(store)).wrong?.what).toMatch(said);
    await expect(store.journal.rotate(EVERYTHING, TESTER)).rejects.toMatchObject({ code: 'UNREADABLE' });
    expect(await place.sql('SELECT 1 FROM audit_segments')).toEqual([]);
  });

  it('finds that the last entries were removed, against a checkpoint', async () => {
    const { place, store } = await filled(6);
    const { seq } = (await store.journal.heads())[0] ?? { seq: 0 };
    await tamper(place, 'DELETE FROM audit WHERE position = (SELECT max(position) FROM audit)');
    // The head is still known, so the next entry does not close the gap.
    await store.journal.append(newEvent());
    expect((await verify(store)).wrong).toMatchObject({ seq });
  });

  it.each<[string, RegExp, (path: string) => void]>([
    ['is gone', /missing/, path => rmSync(path)],
    ['is another one', /not the one that was sealed/, path => writeFileSync(path, 'hello')],
  ])('a sealed blob that %s is found', async (_what, said, change) => {
    const { place, store } = await filled(9);
    const { sha256 = '' } = (await store.journal.rotate(EVERYTHING, TESTER)) ?? {};
    change(join(place.blobs, sha256.slice(0, 2), sha256));
    expect((await verify(store)).wrong?.what).toMatch(said);
  });

  it('a text with the character 0 is found by it, and so is nothing else', async () => {
    const { store } = await filled(0);
    const subjects = ['a\0b', 'a\uFDD0\uFDD1b', 'a\uFDD0b', 'ab'];
    for (const subject of subjects) await store.journal.append(newEvent({ subject }));
    for (const subject of subjects)
      expect(subjectsOf(await store.journal.list({ ...ALL, subject }, 9))).toEqual([subject]);
    expect(await store.runs.get(null, '\0')).toBeNull();
    expect(await store.runs.find(null, '\0')).toEqual([]);
    expect((await verify(store)).wrong).toBeNull();
  });
});

describe.skipIf(noPostgres !== null)('the journal in PostgreSQL: what is not committed yet', () => {
  /** Tells of something and stops before the commit, until `go` is called. */
  async function slowAppend(place: Place, store: Store, subject: string): Promise<{ go(): Promise<void> }> {
    await place.sql('BEGIN');
    await place.sql('LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE');
    await place.sql(`CREATE OR REPLACE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM 1 FROM tenants; RETURN new; END $$`);
    await place.sql(`CREATE OR REPLACE TRIGGER meet AFTER INSERT ON audit FOR EACH ROW
      WHEN (new.subject = '${subject}') EXECUTE FUNCTION meet()`);
    await place.sql('COMMIT');
    await place.sql('BEGIN');
    await place.sql('LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE');
    const done = store.journal.append(newEvent({ subject, tenant: 'slow' }));
    const isThere = async () => {
      await place.sql('SELECT pg_stat_clear_snapshot()');
      const sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
      return (await place.sql(sql, place.name)).length > 0;
    };
    for (let turn = 0; turn < 500 && !(await isThere()); turn++) await new Promise(resolve => setTimeout(resolve, 10));
    return {
      async go() {
        await place.sql('COMMIT');
        await done;
      },
    };
  }

  it('is waited for by those who follow: they see it once, though it was given an earlier position', async () => {
    const { place, store } = await filled(2);
    const { position } = await store.journal.list(ALL, 1);
    const slow = await slowAppend(place, store, 'slow');
    await store.journal.append(newEvent({ subject: 'quick' }));
    const between = await store.journal.after(position, ALL, 10);
    expect(subjectsOf(between)).toEqual([]);
    await slow.go();
    const then = await store.journal.after(between.position, ALL, 10);
    expect(subjectsOf(then)).toEqual(['slow', 'quick']);
    expect(subjectsOf(await store.journal.after(then.position, ALL, 10))).toEqual([]);
  });

  it('is not lost in a rotation', async () => {
    const { place, store } = await filled(2);
    const slow = await slowAppend(place, store, 'slow');
    await store.journal.append(newEvent({ subject: 'quick' }));
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toMatchObject({ entries: 2 });
    await slow.go();
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toMatchObject({ entries: 3 });
    expect(subjectsOf(await store.journal.list(ALL, 10))).toEqual(expect.arrayContaining(['slow', 'quick']));
    expect((await verify(store)).wrong).toBeNull();
  });

  it('holds up only its own tenant', async () => {
    const { place, store } = await filled(2);
    const slow = await slowAppend(place, store, 'slow');
    let second = false;
    const waits = store.journal.append(newEvent({ tenant: 'slow' })).then(() => {
      second = true;
    });
    await store.journal.append(newEvent({ tenant: 't' }), newEvent());
    expect(second).toBe(false);
    await slow.go();
    await waits;
    expect((await verify(store)).wrong).toBeNull();
  });
});

describe.skipIf(noPostgres !== null)('the journal in PostgreSQL: rotation', () => {
  it('goes over gaps that faults left in the positions, and whoever follows goes on from any of them', async () => {
    const { store } = await filled(0);
    const subjects: string[] = [];
    for (let at = 0; at < 12; at++) {
      // The first event is given a position, the second cannot be told, so that neither is kept.
      await expect(store.journal.append(newEvent(), newEvent({ data: { half: 0.5 } }))).rejects.toThrow();
      await store.journal.append(newEvent({ subject: `s-${at}` }));
      subjects.push(`s-${at}`);
    }
    const positions: number[] = [0];
    for (let last = -1; last !== positions.at(-1); ) {
      last = positions.at(-1) ?? 0;
      positions.push((await store.journal.after(last, ALL, 1)).position);
    }
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toMatchObject({ entries: 12 });
    for (const [at, position] of positions.slice(0, 12).entries())
      expect(subjectsOf(await store.journal.after(position, { ...ALL, types: ['config.changed'] }, 100))).toEqual(
        subjects.slice(at),
      );
    expect((await verify(store)).wrong).toBeNull();
  });

  it('several at once: one of them moves the entries', async () => {
    const { place, store } = await filled(50);
    const stores = [store, await place.open(), await place.open()];
    const answers = await Promise.allSettled(stores.map(each => each.journal.rotate(EVERYTHING, TESTER)));
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'CANCELED' });
    expect(answers.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(await verify(store)).toMatchObject({ wrong: null });
    expect((await store.journal.list({ ...ALL, types: ['config.changed'] }, 100)).entries).toHaveLength(50);
    expect(readdirSync(place.blobs).length).toBeGreaterThan(0);
  });

  it('only what is older is moved, and nothing when there is nothing', async () => {
    const { store } = await filled(4);
    expect(await store.journal.rotate(1, TESTER)).toBeNull();
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toMatchObject({ entries: 4 });
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toBeNull();
    await store.journal.append(newEvent());
    expect(await store.journal.rotate(EVERYTHING, TESTER)).toMatchObject({ entries: 2 });
    expect(await verify(store)).toMatchObject({ wrong: null, entries: 7 });
  });
});

describe('texts without the character 0', () => {
  it('every text comes back as it was, and no two are kept alike', () => {
    const unit = fc.constantFrom('\0', '\uFDD0', '\uFDD1', 'a', '\\', '\ud800', '😀');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), fc.string({ unit, maxLength: 12 }), (one, other) => {
        expect(withoutNul(one)).not.toContain('\0');
        expect(withNul(withoutNul(one))).toBe(one);
        expect(withoutNul(one) === withoutNul(other)).toBe(one === other);
        expect(withoutNul(one + other).startsWith(withoutNul(one))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
