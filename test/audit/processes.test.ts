import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openAudit, type Verified } from '../../src/audit/index.ts';
import { ALL } from '../contracts/journal.ts';
import { openPlace } from '../support/place.ts';
import { clearPlaces, newPlace, noPostgres } from '../support/postgres.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const CHILD = join(import.meta.dirname, '../support/journal-child.ts');
const EACH = 200;

const STORES = [
  { name: 'SQLite', skip: null, place: async () => join(tempDir('journal'), 'new') },
  { name: 'PostgreSQL', skip: noPostgres, place: async () => (await newPlace()).place },
];

/** Answers with what the process said was written; it is killed when it has said so many. */
async function write(place: string, name: string, killAfter: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, place, name, String(EACH)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (text.split('\n').length > killAfter) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return text.split('\n').slice(0, -1);
}

async function subjectsIn(place: string): Promise<(string | null)[]> {
  const store = await openPlace(place);
  const found: (string | null)[] = [];
  for await (const { entry } of openAudit(store.journal, '/nowhere').export(ALL))
    if (entry.type === 'config.changed') found.push(entry.subject);
  await store.close();
  return found;
}

async function verify(place: string): Promise<Verified> {
  const store = await openPlace(place);
  const verified = await openAudit(store.journal, '/nowhere').verify(null, null);
  await store.close();
  return verified;
}

describe.each(STORES)('several processes write at once: $name', ({ skip, place: newStore }) => {
  test.skipIf(skip !== null)(
    'nothing is lost, nothing is written twice, no chain forks',
    { timeout: 120_000 },
    async () => {
      // Also the first one to come finds nothing there: they make the tables at once.
      const place = await newStore();
      const said = (await Promise.all(['a', 'b', 'c', 'd'].map(name => write(place, name, Infinity)))).flat();
      expect(said).toHaveLength(4 * EACH);
      expect(new Set(await subjectsIn(place))).toEqual(new Set(said));
      const { wrong, entries, chains } = await verify(place);
      expect(wrong).toBeNull();
      expect(entries).toBe(4 * EACH);
      expect(new Set(chains.map(({ seq }) => seq))).toEqual(new Set([4 * (EACH / 5), 4 * (EACH - EACH / 5)]));
    },
  );

  test.skipIf(skip !== null)(
    'one is killed midway, another rotates: what was answered is there, and it verifies',
    { timeout: 120_000 },
    async () => {
      const place = await newStore();
      const rotating = async () => {
        const store = await openPlace(place);
        for (let turn = 0; turn < 5; turn++) {
          await new Promise(resolve => setTimeout(resolve, 100));
          await store.journal.rotate(Number.MAX_SAFE_INTEGER, { id: 'uid:1000', channel: 'terminal' });
          expect((await openAudit(store.journal, '/nowhere').verify(null, null)).wrong).toBeNull();
        }
        await store.close();
      };
      const [a, b, c] = await Promise.all([
        write(place, 'a', Infinity),
        write(place, 'b', 50),
        write(place, 'c', 120),
        rotating(),
      ]);
      expect([a.length, b.length >= 50, c.length >= 120]).toEqual([EACH, true, true]);
      const found = await subjectsIn(place);
      expect(found).toEqual(expect.arrayContaining([...a, ...b, ...c]));
      expect(new Set(found).size).toBe(found.length);
      // At most the one that each was writing when it was killed.
      expect(found.length).toBeLessThanOrEqual(a.length + b.length + c.length + 2);
      expect((await verify(place)).wrong).toBeNull();
    },
  );

  test.skipIf(skip !== null)(
    'whoever follows meanwhile sees every entry once, and none too late',
    { timeout: 120_000 },
    async () => {
      const place = await newStore();
      const store = await openPlace(place);
      const seen: (string | null)[] = [];
      let position = 0;
      let over = false;
      const follow = async () => {
        for (let last = false; !last; ) {
          last = over;
          for (let more = true; more; ) {
            const page = await store.journal.after(position, ALL, 20);
            more = page.entries.length === 20;
            position = page.position;
            for (const { type, subject } of page.entries) if (type === 'config.changed') seen.push(subject);
          }
          if (seen.length > 150) await store.journal.rotate(Date.now() - 50, { id: 'uid:1000', channel: 'terminal' });
        }
      };
      const followed = follow();
      const said = (await Promise.all(['a', 'b', 'c'].map(name => write(place, name, Infinity)))).flat();
      over = true;
      await followed;
      await store.close();
      expect(seen.map(String).toSorted()).toEqual(said.toSorted());
    },
  );
});
