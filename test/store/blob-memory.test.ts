import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { BlobSettings } from '../../src/store/index.ts';
import { NO_S3, needsS3, s3Settings } from '../support/s3.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
needsS3();

const CHILD = join(import.meta.dirname, '../support/blob-child.ts');
const SIZE = 200_000_000;

async function roundTrip(settings: BlobSettings): Promise<{ read: number; grownBytes: number }> {
  const args = [CHILD, JSON.stringify(settings), tempDir('blob-memory'), String(SIZE)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as { read: number; grownBytes: number };
}

describe('nothing large sits in memory', { timeout: 60_000 }, () => {
  it('on its way to a folder and back', async () => {
    const { read, grownBytes } = await roundTrip({ kind: 'disk', sign: null });
    expect(read).toBe(SIZE);
    expect(grownBytes).toBeLessThan(SIZE / 2);
  });

  it.skipIf(NO_S3 !== null)('on its way to S3 and back', async () => {
    const { read, grownBytes } = await roundTrip({ kind: 's3', s3: await s3Settings() });
    expect(read).toBe(SIZE);
    expect(grownBytes).toBeLessThan(SIZE / 2);
  });
});
