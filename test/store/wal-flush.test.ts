import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Database } from '../../src/store/database.ts';
import { WalFlush } from '../../src/store/wal-flush.ts';
import { tempDirectory } from '../temp.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tempDirectory(), 'flush-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('what is brought to the disk', () => {
  // No disk is quick enough for 0, and every one for 1000.
  test.each([0, 1000])(
    'all who ask while one is under way share the next one, and never that one (%d ms)',
    async quickMs => {
      const path = join(directory, 'a.db');
      writeFileSync(`${path}-wal`, 'x');
      const flush = new WalFlush(path, quickMs);
      const first = flush.flush();
      const second = flush.flush();
      expect(second).not.toBe(first);
      expect(flush.flush()).toBe(second);
      await second;
      expect(flush.flush()).not.toBe(second);
      await flush.flush();
      flush.close();
    },
  );

  test.each([0, 1000])(
    'one that fails is told to all who wait for it, and no later one is believed (%d ms)',
    async quickMs => {
      const path = join(directory, 'none.db');
      const flush = new WalFlush(path, quickMs);
      const asked = [flush.flush(), flush.flush(), flush.flush()];
      for (const each of asked) await expect(each).rejects.toMatchObject({ code: 'ENOENT' });
      // The kernel forgets what it could not write: the next flush succeeds, and what was written before is not there.
      writeFileSync(`${path}-wal`, 'x');
      await expect(flush.flush()).rejects.toMatchObject({ code: 'ENOENT' });
      flush.close();
    },
  );

  test('a full write is answered after the flush, one for later without it', async () => {
    const path = join(directory, 'b.db');
    const database = new Database(path, 1000);
    unlinkSync(`${path}-wal`); // so that a flush cannot be done
    await expect(database.write('later', () => 1)).resolves.toBe(1);
    await expect(database.write('full', () => 2)).rejects.toMatchObject({ code: 'UNWRITABLE' });
    // From then on nothing is even begun that could not be kept.
    writeFileSync(`${path}-wal`, '');
    let begun = false;
    const write = database.write('full', () => {
      begun = true;
    });
    await expect(write).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(begun).toBe(false);
    expect(() => database.check()).toThrow('to the disk');
    database.close();
  });
});
