import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDirectory } from '../../src/skill/index.ts';
import { collect, plant, refusal, scratch, tick } from './scratch.ts';

describe('X-10 a file that changed after the folder was opened is refused', () => {
  const large = Buffer.alloc(200_000, 'x');
  const changes: [title: string, ...steps: ((file: string, base: string) => unknown)[]][] = [
    ['written to, at the same size', file => writeFileSync(file, Buffer.alloc(200_000, 'y'))],
    ['longer', file => appendFileSync(file, 'more')],
    ['shorter', file => truncateSync(file, 5)],
    ['touched', file => utimesSync(file, 1, 1)],
    ['given another mode', file => chmodSync(file, 0o755)],
    ['gone', file => unlinkSync(file)],
    ['replaced', file => writeFileSync(`${file}2`, large), file => renameSync(`${file}2`, file)],
    ['a link now', (file, base) => renameSync(file, `${base}/m`), (file, base) => symlinkSync(`${base}/m`, file)],
    ['a FIFO now', file => unlinkSync(file), file => spawnSync('mkfifo', [file])],
    ['a directory now', file => unlinkSync(file), file => mkdirSync(file)],
    [
      // The very same inode, but through a link that leads out of the skill.
      'below a directory that is a link now',
      (_file, base) => renameSync(`${base}/s/sub`, `${base}/out`),
      (_file, base) => symlinkSync(`${base}/out`, `${base}/s/sub`),
    ],
  ];
  test.each(changes)('%s', async (_title, ...steps) => {
    const base = scratch();
    const root = plant(`${base}/s`, { 'SKILL.md': 'x', 'sub/large': large });
    await tick();
    const folder = openDirectory(root);
    for (const step of steps) step(join(root, 'sub/large'), base);
    await refusal(() => folder.read('sub/large', 1_000_000), 'SKILL_CHANGED');
    await refusal(() => collect(folder.stream('sub/large')), 'SKILL_CHANGED');
    expect(folder.read('SKILL.md', 10).toString()).toBe('x');
  });

  test('also while it is being read', async () => {
    const root = plant(`${scratch()}/s`, { large });
    await tick();
    const stream = openDirectory(root).stream('large')[Symbol.asyncIterator]();
    await stream.next();
    writeFileSync(join(root, 'large'), Buffer.alloc(200_000, 'y'));
    await refusal(async () => {
      while ((await stream.next()).done !== true);
    }, 'SKILL_CHANGED');
  });

  test('a small file that was read once stays what it was for every later reader', async () => {
    const root = plant(`${scratch()}/s`, { 'SKILL.md': 'first' });
    const folder = openDirectory(root);
    folder.read('SKILL.md', 100).fill('!');
    writeFileSync(join(root, 'SKILL.md'), 'second');
    expect(folder.read('SKILL.md', 100).toString()).toBe('first');
    folder.read('SKILL.md', 100).fill('!');
    expect((await collect(folder.stream('SKILL.md'))).toString()).toBe('first');
  });

  test('an empty file that is not empty any more', async () => {
    const root = plant(`${scratch()}/s`, { empty: '' });
    const folder = openDirectory(root);
    writeFileSync(join(root, 'empty'), 'x');
    await refusal(() => collect(folder.stream('empty')), 'SKILL_CHANGED');
  });
});
