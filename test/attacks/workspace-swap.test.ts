import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { openWorkspace } from '../../src/workspace/index.ts';
import { tempDirectory } from '../temp.ts';

const temp = tempDirectory();

/** Puts a link to the outside where the folder was and takes it away again, as fast as it can, for a bounded time. */
const SWAP = `
  const { renameSync, rmSync, symlinkSync } = require('node:fs');
  const { workerData: { folder, outside, state } } = require('node:worker_threads');
  const stop = new Int32Array(state);
  for (let i = 0; i < 200000 && Atomics.load(stop, 0) === 0; i++) {
    renameSync(folder, folder + '-aside');
    // A write may have made the folder anew by now.
    try { symlinkSync(outside, folder); } catch { }
    for (;;) {
      try {
        rmSync(folder, { recursive: true, force: true });
        renameSync(folder + '-aside', folder);
        break;
      } catch { }
    }
    Atomics.add(stop, 1, 1);
  }
`;

test.skipIf(process.platform !== 'linux')(
  'WS-07: a folder that is swapped for a link meanwhile leads nowhere',
  async () => {
    const root = join(temp, 'workspace');
    const outside = join(temp, 'outside');
    mkdirSync(join(root, 'a'), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(root, 'a/x.txt'), 'inside');
    writeFileSync(join(outside, 'x.txt'), 'outside');
    const workspace = openWorkspace(root);
    const state = new SharedArrayBuffer(8);
    const swaps = new Int32Array(state);
    const worker = new Worker(SWAP, { eval: true, workerData: { folder: join(root, 'a'), outside, state } });
    const ended = new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    try {
      const until = Date.now() + 1500;
      while (Date.now() < until) {
        try {
          count(workspace.read('a/x.txt').text);
        } catch (error) {
          count((error as { code: string }).code);
        }
        await workspace.write('a/x.txt', 'inside', async () => undefined).catch(error => count(error.code));
      }
    } finally {
      Atomics.store(swaps, 0, 1);
      await ended;
    }
    expect(Atomics.load(swaps, 1)).toBeGreaterThan(100);
    expect(readFileSync(join(outside, 'x.txt'), 'utf8')).toBe('outside');
    expect(
      [...seen.keys()].filter(what => !/^(inside|PATH_OUTSIDE|NOT_FOUND|FILE_CHANGED|UNWRITABLE)$/.test(what)),
    ).toEqual([]);
    expect(seen.get('inside')).toBeGreaterThan(0);
    expect(seen.get('PATH_OUTSIDE')).toBeGreaterThan(0);
  },
);
