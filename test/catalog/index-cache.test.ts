import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Discovery, discover, type IndexCache, openIndexCache } from '../../src/catalog/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { skillsIn, skillText, user } from './make.ts';
import { step, steps } from './steps.ts';

/** As if every file had been written long ago: nothing is too fresh to be remembered. */
const LATER = () => Date.now() + 60_000;
const seen = ({ skills, broken, problems }: Discovery) => ({ skills, broken, problems });

function many(count: number): string {
  return skillsIn(Object.fromEntries(Array.from({ length: count }, (_, index) => [`s-${index}`, `Number ${index}.`])));
}

/** A cache that tells whether it was asked in vain, and what was given to it. */
function counted(inner: IndexCache): IndexCache & { loaded: number; saved: number } {
  const counts = {
    loaded: 0,
    saved: 0,
    load(root: string) {
      const records = inner.load(root);
      counts.loaded = records.size;
      return records;
    },
    save(root: string, records: Parameters<IndexCache['save']>[1]) {
      counts.saved++;
      inner.save(root, records);
    },
  };
  return counts;
}

/** What a scan would remember. */
function recordsOf(root: string, now: () => number): Parameters<IndexCache['save']>[1] {
  const saved: Parameters<IndexCache['save']>[1][] = [];
  discover([user(root)], { cache: { load: () => new Map(), save: (_root, records) => saved.push(records) }, now });
  return saved[0] ?? new Map();
}

describe('AS-09 the index cache', () => {
  test('makes a second scan the same, reads nothing anew and writes nothing', () => {
    const root = many(40);
    writeFiles(root, {
      's-1/skill.yaml': 'name: seks\ndescription: S.\ncapabilities: []\n',
      's-2/SKILL.md': '---\nname: x\n---\n',
    });
    const cache = counted(openIndexCache(tempDirectory(), '1'));
    const first = discover([user(root)], { cache, now: LATER });
    const second = discover([user(root)], { cache, now: LATER });
    expect(seen(second)).toEqual(seen(first));
    expect(cache).toMatchObject({ loaded: 40, saved: 1 });
    // Proof that it was used: a description that only the cache can know.
    const lying: IndexCache = {
      load: path =>
        new Map(
          [...cache.load(path)].map(([key, record]) => {
            const skill =
              record.skill !== null
                ? { ...record.skill, summary: { ...record.skill.summary, description: 'From the cache.' } }
                : null;
            return [key, { ...record, skill }];
          }),
        ),
      save: () => {},
    };
    const third = discover([user(root)], { cache: lying, now: LATER });
    expect(new Set(third.skills.map(({ description }) => description))).toEqual(new Set(['From the cache.']));
  });

  test('is a file of the user alone', () => {
    const directory = join(tempDirectory(), 'catalog');
    discover([user(many(40))], { cache: openIndexCache(directory, '1'), now: LATER });
    const [file = ''] = readdirSync(directory);
    expect(readdirSync(directory)).toHaveLength(1);
    expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['cut short', (file: string) => truncateSync(file, 2000)],
    ['empty', (file: string) => truncateSync(file, 0)],
    ['grown', (file: string) => appendFileSync(file, ' ')],
    [
      'changed in one letter',
      (file: string) => writeFileSync(file, readFileSync(file, 'latin1').replace('Number 7.', 'Number 8.'), 'latin1'),
    ],
    [
      'open to others',
      (file: string) => {
        writeFileSync(file, readFileSync(file));
        chmodSync(file, 0o666);
      },
    ],
    [
      'a link',
      (file: string) => {
        renameSync(file, `${file}.real`);
        symlinkSync(`${file}.real`, file);
      },
    ],
    [
      'a directory',
      (file: string) => {
        unlinkSync(file);
        mkdirSync(file);
      },
    ],
  ])('%s is built again', (_what, damage) => {
    const root = many(40);
    const directory = tempDirectory();
    const first = discover([user(root)], { cache: openIndexCache(directory, '1'), now: LATER });
    damage(join(directory, readdirSync(directory)[0] ?? ''));
    const cache = counted(openIndexCache(directory, '1'));
    expect(seen(discover([user(root)], { cache, now: LATER }))).toEqual(seen(first));
    expect(cache.loaded).toBe(0);
  });

  test('of another version of the program, or of another place, is not used', () => {
    const directory = tempDirectory();
    const root = many(40);
    discover([user(root)], { cache: openIndexCache(directory, '1'), now: LATER });
    expect(openIndexCache(directory, '2').load(root).size).toBe(0);
    expect(openIndexCache(directory, '1').load(`${root}/s-1`).size).toBe(0);
    expect(openIndexCache(directory, '1').load(root).size).toBe(41);
  });

  test('that cannot be written costs time only', () => {
    const root = many(40);
    const directory = join(writeFiles(tempDirectory(), { file: '' }), 'file/catalog');
    expect(discover([user(root)], { cache: openIndexCache(directory, '1'), now: LATER }).skills).toHaveLength(40);
  });

  test('keeps nothing that was written in the tick in which it was read', () => {
    const root = many(40);
    const path = join(root, 's-5/SKILL.md');
    const { mtimeMs, ctimeMs } = statSync(path);
    const kept = (now: number) => recordsOf(root, () => now).has(join(root, 's-5'));
    const written = Math.max(mtimeMs, ctimeMs);
    expect([kept(written), kept(written + 20), kept(written - 3_600_000)]).toEqual([false, false, false]);
    expect(kept(written + 60_000)).toBe(true);
    // Times in whole seconds come from a file system that has no finer ones.
    const whole = Math.ceil(written / 1000 + 1) * 1000;
    utimesSync(path, whole / 1000, whole / 1000);
    expect([kept(whole + 1500), kept(whole + 2500)]).toEqual([false, true]);
  });

  test('written and read in turns, without rest, never gives an old answer', () => {
    const root = many(40);
    const cache = openIndexCache(tempDirectory(), '1');
    for (let turn = 0; turn < 100; turn++) {
      const text = `Number ${turn % 10}.`;
      writeFileSync(join(root, 's-5/SKILL.md'), skillText('s-5', text));
      const { skills } = discover([user(root)], { cache });
      expect(skills.find(({ name }) => name === 's-5')?.description).toBe(text);
    }
  });

  test('forgets a dialect that depended on which files there are', () => {
    const root = many(40);
    const cache = openIndexCache(tempDirectory(), '1');
    const dialectOf = (name: string) =>
      discover([user(root)], { cache, now: LATER }).skills.find(skill => skill.name === name)?.dialect;
    const text = skillText('plain', 'Versioned.', 'version: 1.0.0\n');
    writeFiles(root, { 'plain/SKILL.md': text, 'plain/scripts/other.sh': '' });
    expect(dialectOf('plain')).toBe('agent-skills');
    // The folder of the skill itself does not change by it.
    writeFiles(root, { 'plain/scripts/main.sh': '' });
    expect(dialectOf('plain')).toBe('skillbox');
  });

  test('keeps no skill that was read whole and holds a link: what it leads to may change without a sign', () => {
    const root = many(40);
    const files = { 'SKILL.md': skillText('l', 'Linked.', 'user-invocable: false\n'), 'scripts/b': '' };
    writeFiles(join(root, 'plain'), files);
    writeFiles(join(root, 'linked'), files);
    symlinkSync('b', join(root, 'linked/scripts/c'));
    const records = recordsOf(root, LATER);
    expect([records.has(join(root, 'plain')), records.has(join(root, 'linked'))]).toEqual([true, false]);
  });

  test('sees a file whose time was set back', () => {
    const root = many(40);
    const cache = openIndexCache(tempDirectory(), '1');
    const path = join(root, 's-5/SKILL.md');
    utimesSync(path, 1000, 1000);
    discover([user(root)], { cache, now: LATER });
    writeFileSync(path, skillText('s-5', 'Number 6.'));
    utimesSync(path, 1000, 1000);
    const { skills } = discover([user(root)], { cache, now: LATER });
    expect(skills.find(({ name }) => name === 's-5')?.description).toBe('Number 6.');
  });
});

test('AS-09 after any changes a scan with the cache equals a scan without', { timeout: 120_000 }, async () => {
  const base = tempDirectory();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 5 }), async rounds => {
      const root = join(base, `run-${run++}`);
      mkdirSync(root);
      skillsIn(Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`z/${index}`, 'Z.'])), root);
      const cache = openIndexCache(join(base, 'cache'), '1');
      for (const round of rounds) {
        for (const one of round) step(root, one);
        expect(seen(discover([user(root)], { cache }))).toEqual(seen(discover([user(root)])));
        // Longer than a tick, so that some of it is settled and the cache has something to say.
        await new Promise(resolve => setTimeout(resolve, 130));
        discover([user(root)], { cache });
      }
    }),
    { numRuns: 12 },
  );
});
