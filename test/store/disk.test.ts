import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openDisk } from '../../src/store/disk.ts';
import { blobsContract } from '../contracts/blobs.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

blobsContract('a folder', async () => {
  const directory = join(tempDir('disk'), 'blobs');
  return { open: async () => openDisk(directory, WRITER), close: async () => undefined, runs: 50 };
});

const OLD = new Date('2020-01-01');
const pathOf = (directory: string, sha256: string) => join(directory, sha256.slice(0, 2), sha256);

describe('blobs in a folder', () => {
  it('are for their owner alone', async () => {
    const directory = join(tempDir('disk'), 'blobs');
    const { sha256 } = await openDisk(directory, WRITER).put(bytesOf('private'));
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(pathOf(directory, sha256)).mode & 0o777).toBe(0o600);
  });

  it('that are written again are new again, and stay', async () => {
    const directory = tempDir('disk');
    const blobs = openDisk(directory, WRITER);
    const { sha256 } = await blobs.put(bytesOf('again'));
    utimesSync(pathOf(directory, sha256), OLD, OLD);
    const before = Date.now() - 60_000;
    await blobs.put(bytesOf('again'));
    expect(await blobs.remove(sha256, before)).toBe(false);
    utimesSync(pathOf(directory, sha256), OLD, OLD);
    expect(await blobs.remove(sha256, before)).toBe(true);
    expect(readdirSync(directory).filter(name => name.endsWith('.part'))).toEqual([]);
  });

  it('are not lost when one writes what another removes', async () => {
    const directory = tempDir('disk');
    const blobs = openDisk(directory, WRITER);
    const { sha256 } = await blobs.put(bytesOf('contended'));
    for (let turn = 0; turn < 300; turn++) {
      utimesSync(pathOf(directory, sha256), OLD, OLD);
      // They meet at every point of each other's way.
      const removing = sleep(Math.random() * 2).then(() => blobs.remove(sha256, Date.now() - 60_000));
      await Promise.all([removing, blobs.put(bytesOf('contended'))]);
      expect(await blobs.size(sha256), `turn ${turn}`).toBe(9);
    }
  });

  it('break off before their last byte where they do not hold what their name says', async () => {
    const directory = tempDir('disk');
    const blobs = openDisk(directory, WRITER);
    const { sha256 } = await blobs.put(bytesOf('right'));
    for (const text of ['wrong', 'x'.repeat(300_000), '']) {
      writeFileSync(pathOf(directory, sha256), text);
      const got: Buffer[] = [];
      const reading = (async () => {
        for await (const piece of (await blobs.read(sha256)) ?? []) got.push(piece);
      })();
      await expect(reading).rejects.toMatchObject({ code: 'BLOB_DAMAGED' });
      if (text !== '') expect(Buffer.concat(got).length).toBeLessThan(text.length);
    }
  });

  it('that are not read to their end are closed', async () => {
    const blobs = openDisk(tempDir('disk'), WRITER);
    const { sha256 } = await blobs.put(bytesOf('x'.repeat(300_000)));
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let turn = 0; turn < 20; turn++) for await (const _ of (await blobs.read(sha256)) ?? []) break;
    await expect.poll(open).toBeLessThanOrEqual(before + 2);
  });

  it('are not confused with what else lies there', async () => {
    const directory = tempDir('disk');
    const blobs = openDisk(directory, WRITER);
    writeFileSync(join(directory, '.living.x.part'), '');
    mkdirSync(join(directory, 'ab'));
    writeFileSync(join(directory, 'ab', 'note.txt'), '');
    expect(await blobs.list({ limit: 10, after: null })).toEqual({ items: [], next: null });
  });

  it('cannot be stored where a file stands: said by put and by check', async () => {
    const directory = join(tempDir('disk'), 'file');
    writeFileSync(directory, '');
    const blobs = openDisk(directory, WRITER);
    await expect(blobs.check()).rejects.toMatchObject({ code: 'UNWRITABLE' });
    await expect(blobs.put(bytesOf('x'))).rejects.toMatchObject({ code: 'UNWRITABLE' });
  });
});
