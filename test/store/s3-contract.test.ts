import { it } from 'vitest';
import { openBlobs } from '../../src/store/index.ts';
import { blobsContract } from '../contracts/blobs.ts';
import { WRITER } from '../support/record.ts';
import { S3_SERVERS } from '../support/s3.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

for (const { name, missing, needed, settings } of S3_SERVERS) {
  if (missing !== null) {
    it.skip(`${name}: ${missing}`);
    continue;
  }
  needed();
  blobsContract(`S3 by ${name}`, async () => {
    const s3 = await settings();
    const directory = tempDir('s3');
    return {
      open: async () => openBlobs({ kind: 's3', s3 }, directory, WRITER),
      close: async () => undefined,
      runs: 15,
    };
  });
}
