import { randomUUID } from 'node:crypto';
import { beforeAll } from 'vitest';
import { hasS3, startS3 } from '../../scripts/s3-server.mjs';
import { hasSwift, startSwift } from '../../scripts/swift-server.mjs';
import type { S3Settings } from '../../src/store/index.ts';
import { skipUnless } from './require.ts';

type Access = { endpoint: string; region: string; bucket: string; accessKey: string; secretKey: string };

const START_MS = 90_000;

/** A real S3 server that the tests may use. */
export type S3Server = {
  name: string;
  /** Why the tests that need it are skipped here; null when it is there. */
  missing: string | null;
  /** Call it at the top of a test file: the server may have to start first. */
  needed: () => void;
  /** Settings for a part of the bucket that nobody else uses. */
  settings: (changes?: Partial<S3Settings>) => Promise<S3Settings>;
};

/** That of the whole test run, or one that is started here and ends with this process. */
function serverOf(name: string, missing: string | null, variable: string, start: typeof startS3): S3Server {
  let access: Promise<Access> | null = null;
  const reach = async () => JSON.parse(process.env[variable] ?? (await start().ready())) as Access;
  const settings = async (changes: Partial<S3Settings> = {}): Promise<S3Settings> => {
    access ??= reach();
    const { endpoint, region, bucket, accessKey, secretKey } = await access;
    const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
    const prefix = `${randomUUID()}/`;
    return { endpoint, publicEndpoint: null, region, bucket, prefix, pathStyle: true, credentials, ...changes };
  };
  return {
    name,
    missing,
    needed() {
      if (missing === null) beforeAll(() => settings(), START_MS);
    },
    settings,
  };
}

/** Why the tests that need an S3 server are skipped here; null when there is one. */
export const NO_S3 = skipUnless(
  process.env.SKILLBOX_TEST_S3 !== undefined || hasS3(),
  's3',
  'there is no S3 server: install radosgw, ceph-mon, ceph-osd and ceph-common, or run `npm test`',
);
const NO_SWIFT = skipUnless(
  process.env.SKILLBOX_TEST_SWIFT !== undefined || hasSwift(),
  'swift',
  'there is no Swift: install swift-proxy, swift-account, swift-container, swift-object and memcached',
);

const CEPH = serverOf('Ceph', NO_S3, 'SKILLBOX_TEST_S3', startS3);

/** Servers of different makes: what works on all of them is S3, and not what one of them makes of it. */
export const S3_SERVERS: readonly S3Server[] = [CEPH, serverOf('Swift', NO_SWIFT, 'SKILLBOX_TEST_SWIFT', startSwift)];

export const { settings: s3Settings, needed: needsS3 } = CEPH;
