import { randomUUID } from 'node:crypto';
import { hasS3, startS3 } from '../../scripts/s3-server.mjs';
import type { S3Settings } from '../../src/store/index.ts';
import { skipUnless } from './require.ts';

type Access = { endpoint: string; region: string; bucket: string; accessKey: string; secretKey: string };

/** Why the tests that need an S3 server are skipped here; null when there is one. */
export const NO_S3 = skipUnless(
  process.env.SKILLBOX_TEST_S3 !== undefined || hasS3(),
  's3',
  'there is no S3 server: install radosgw, ceph-mon, ceph-osd and ceph-common, or run `npm test`',
);

let access: Promise<Access> | null = null;

/** The server of the whole test run, or one that is started here and ends with this process. */
async function reach(): Promise<Access> {
  const said = process.env.SKILLBOX_TEST_S3 ?? (await startS3().ready());
  return JSON.parse(said) as Access;
}

/** Settings for a part of the bucket that nobody else uses. */
export async function s3Settings(changes: Partial<S3Settings> = {}): Promise<S3Settings> {
  access ??= reach();
  const { endpoint, region, bucket, accessKey, secretKey } = await access;
  return {
    endpoint,
    publicEndpoint: null,
    region,
    bucket,
    prefix: `${randomUUID()}/`,
    pathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    ...changes,
  };
}
