import { join } from 'node:path';
import type { Blobs } from './blobs.ts';
import { openDisk, type UrlSigner } from './disk.ts';
import type { Writer } from './parts.ts';
import { openS3 } from './s3.ts';
import type { S3Settings } from './s3-client.ts';

/** A folder in the data directory, with links of our own where a server answers them; or a bucket. */
export type BlobSettings = { kind: 'disk'; sign: UrlSigner | null } | { kind: 's3'; s3: S3Settings };

/** The blobs of a store, whatever its records are in. Nothing is connected or made before it is used. */
export function openBlobs(settings: BlobSettings, dataDirectory: string, writer: Writer): Blobs {
  return settings.kind === 's3'
    ? openS3(settings.s3, join(dataDirectory, 'spool'), writer)
    : openDisk(join(dataDirectory, 'blobs'), writer, settings.sign);
}
