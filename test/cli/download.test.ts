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
