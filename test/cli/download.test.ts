import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { downloadFrom } from '../../src/cli/download.ts';
import { tempDirectory } from '../temp.ts';

const root = tempDirectory();

// Many: a file that was still being opened when the transfer broke off appeared after it had been removed, once in a hundred times.
it('a transfer that breaks off leaves nothing', async () => {
  const directory = mkdtempSync(join(root, 'files-'));
  async function* broken() {
    yield Buffer.from('begun');
    throw new Error('broke off');
  }
  for (let time = 0; time < 400; time++) {
    const record = { id: `run${time}`, artifacts: [{ path: 'a.txt', bytes: 9, sha256: '' }], warnings: [] };
    await expect(downloadFrom(record, directory, async () => broken())).rejects.toThrow('cannot write');
    await turn();
  }
  await turn();
  expect(readdirSync(directory)).toEqual([]);
});

it('a folder that git would take for a repository does not come to be, nor is one that is there changed', async () => {
  const directory = mkdtempSync(join(root, 'files-'));
  async function* empty() {}
  const download = async (paths: string[]) => {
    const record = { id: 'run', artifacts: paths.map(path => ({ path, bytes: 0, sha256: '' })), warnings: [] };
    await downloadFrom(record, directory, async () => empty());
    return new Set(record.warnings.map(warning => String(warning).split(' ')[0]));
  };
  const bare = ['r/HEAD', 'r/config', 'r/objects/x', 'r/refs/x'];
  expect(await download([...bare, 'r/a.txt'])).toEqual(new Set(bare));
  expect(await download(['c/head', 'c/CommonDir', 'd/HEAD', 'd/config', 'refs/x', 'HEAD'])).toEqual(
    new Set(['c/CommonDir', 'c/head']),
  );
  expect(await download(['d/objects/x', 'd/refs/x'])).toEqual(new Set(['d/objects/x', 'd/refs/x']));
  expect(await download(['objects/x'])).toEqual(new Set(['objects/x']));
  expect(new Set(readdirSync(directory, { recursive: true, encoding: 'utf8' }))).toEqual(
    new Set(['HEAD', 'd', 'd/HEAD', 'd/config', 'r', 'r/a.txt', 'refs', 'refs/x']),
  );
});
