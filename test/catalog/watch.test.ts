import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FolderWatches, targetsOf } from '../../src/catalog/folder-watches.ts';
import {
  type CatalogWatch,
  type Discovery,
  discover,
  type WatchOptions,
  watchCatalog,
} from '../../src/catalog/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { skillsIn, skillText, user } from './make.ts';
import { step, steps } from './steps.ts';

const seen = ({ skills, broken, problems }: Discovery) => ({ skills, broken, problems });
const names = (discovery: Discovery) => discovery.skills.map(({ name }) => name).join(' ');

/** Without the regular look, so that only the system's messages can bring a change. */
function watched(path: string, options: Partial<WatchOptions> = {}): { index: CatalogWatch; heard: string[] } {
  const heard: string[] = [];
  const index = watchCatalog([user(path)], now => heard.push(names(now)), {
    debounceMs: 10,
    rescanMs: 3_600_000,
    ...options,
  });
  onTestFinished(() => index.close());
  return { index, heard };
}

async function until(done: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !done(); turn++) await sleep(20);
  expect(done()).toBe(true);
}

describe('AS-09 a watched index follows', () => {
  test('create, edit, rename, delete and a swapped link', async () => {
    const root = skillsIn({ one: 'One.' });
    const other = skillsIn({ 'v1/tool': 'Old.', 'v2/tool': 'New.' });
    const { index, heard } = watched(root);
    expect(names(index.current())).toBe('one');
    skillsIn({ two: 'Two.' }, root);
    await until(() => names(index.current()) === 'one two');
    writeFileSync(join(root, 'two/SKILL.md'), skillText('deux', 'Two.'));
    await until(() => names(index.current()) === 'one deux');
    renameSync(join(root, 'one'), join(root, 'zone'));
    await until(() => index.current().skills.at(-1)?.folder === join(root, 'zone'));
    symlinkSync(join(other, 'v1/tool'), join(root, 'tool'));
    await until(() => index.current().skills.some(({ description }) => description === 'Old.'));
    symlinkSync(join(other, 'v2/tool'), join(root, 'aside'));
    renameSync(join(root, 'aside'), join(root, 'tool'));
    await until(() => index.current().skills.some(({ description }) => description === 'New.'));
    writeFileSync(join(other, 'v2/tool/SKILL.md'), skillText('tool', 'Newer.'));
    await until(() => index.current().skills.some(({ description }) => description === 'Newer.'));
    rmSync(join(root, 'two'), { recursive: true });
    await until(() => !names(index.current()).includes('deux'));
    expect(heard.length).toBeGreaterThanOrEqual(6);
  });

  test('a place that comes, goes and comes again', async () => {
    const home = tempDirectory();
    const place = join(home, '.claude/skills');
    const { index } = watched(place);
    expect(names(index.current())).toBe('');
    mkdirSync(join(home, '.claude'));
    await sleep(60);
    skillsIn({ one: 'One.' }, place);
    await until(() => names(index.current()) === 'one');
    rmSync(join(home, '.claude'), { recursive: true });
    await until(() => names(index.current()) === '');
    skillsIn({ two: 'Two.' }, place);
    await until(() => names(index.current()) === 'two');
    writeFileSync(join(place, 'two/SKILL.md'), skillText('three', 'Three.'));
    await until(() => names(index.current()) === 'three');
  });

  test('a place that is itself a link to another one tomorrow', async () => {
    const root = skillsIn({ 'v1/one': 'One.', 'v2/two': 'Two.' });
    symlinkSync('v1', join(root, 'skills'));
    const { index } = watched(join(root, 'skills'));
    unlinkSync(join(root, 'skills'));
    symlinkSync('v2', join(root, 'skills'));
    await until(() => names(index.current()) === 'two');
  });

  test('also where not every directory can be watched', async () => {
    const root = skillsIn({ one: 'One.', two: 'Two.' });
    const { index } = watched(root, { maxWatches: 1, pollMs: 30 });
    writeFileSync(join(root, 'two/SKILL.md'), skillText('deux', 'Two.'));
    await until(() => names(index.current()) === 'one deux');
  });

  test('also what changes after it was read and before it was watched', async () => {
    const root = skillsIn({ one: 'One.' });
    // Between the walk and the first watch there is nothing but the index being written.
    const save = () => writeFileSync(join(root, 'one/SKILL.md'), skillText('uno', 'One.'));
    const { index } = watched(root, { cache: { load: () => new Map(), save }, now: () => Date.now() + 60_000 });
    await until(() => names(index.current()) === 'uno');
  });

  test('and hears nothing when nothing changed, or after it was closed', async () => {
    const root = skillsIn({ one: 'One.' });
    const { index, heard } = watched(root);
    writeFiles(root, { 'one/references/more.md': 'More.' });
    await sleep(150);
    index.close();
    skillsIn({ two: 'Two.' }, root);
    await sleep(100);
    expect(heard).toEqual([]);
  });
});

test('a watch on a directory that was removed is given up, even if a new one has its name and its inode', async () => {
  const path = join(tempDirectory(), 'd');
  mkdirSync(path);
  let heard = 0;
  const watches = new FolderWatches(10, () => heard++);
  onTestFinished(() => watches.close());
  const targets = () => new Map([[path, { ino: 1, names: null }]]);
  expect([watches.follow(targets()), watches.follow(targets())]).toEqual([true, false]);
  rmSync(path, { recursive: true });
  mkdirSync(path);
  await until(() => heard > 0);
  expect(watches.follow(targets())).toBe(true);
  heard = 0;
  writeFileSync(join(path, 'x'), '');
  await until(() => heard > 0);
});

test('in a directory above a place only the way to the place matters', async () => {
  const home = tempDirectory();
  let heard = 0;
  const watches = new FolderWatches(10, () => heard++);
  onTestFinished(() => watches.close());
  const targets = targetsOf([user(join(home, '.claude/skills'))], new Map());
  expect([...targets].map(([path, { names: wanted }]) => [path, [...(wanted ?? [])]])).toEqual([[home, ['.claude']]]);
  watches.follow(targets);
  writeFileSync(join(home, '.bash_history'), 'ls');
  await sleep(80);
  expect(heard).toBe(0);
  mkdirSync(join(home, '.claude'));
  await until(() => heard > 0);
});

test('AS-09 after any changes the watched index comes to equal a full scan', { timeout: 120_000 }, async () => {
  const base = tempDirectory();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 4 }), async rounds => {
      const root = join(base, `run-${run++}`);
      const index = watchCatalog([user(root)], () => {}, { debounceMs: 5, rescanMs: 3_600_000 });
      try {
        mkdirSync(root);
        for (const round of rounds) {
          for (const one of round) step(root, one);
          await sleep(15);
        }
        const full = JSON.stringify(seen(discover([user(root)])));
        await until(() => JSON.stringify(seen(index.current())) === full);
        expect(JSON.stringify(seen(index.refresh()))).toBe(full);
      } finally {
        index.close();
      }
    }),
    { numRuns: 40 },
  );
});
