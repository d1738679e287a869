import { createReadStream } from 'node:fs';
import { attachment } from '../base/index.ts';
import { type BlobPage, type Blobs, checkRange, isBlobName, type StoredBlob } from './blobs.ts';
import { sweepParts, type Writer } from './parts.ts';
import { connectS3, type S3, S3_TIMING, type S3Settings, type S3Timing } from './s3-client.ts';
import { isAbsent, statusOf, translateS3 } from './s3-faults.ts';
import { checkSeconds } from './signed-links.ts';
import { type Spooled, spooled } from './spool.ts';
import { plain, verified } from './verified.ts';

const PART_BYTES = 8 * 1024 ** 2;
const PARTS_AT_ONCE = 2;
/** What is larger waits for its turn: each holds a few parts in memory. */
const LARGE_AT_ONCE = 4;
const MAX_PAGE = 1000;

/**
 * `freshMs`: large content that was stored so lately is not sent again; who removes old blobs leaves younger ones alone.
 * `abandonedMs`: an upload that began so long ago was given up by a process that died.
 */
export type S3Habits = S3Timing & { freshMs: number; abandonedMs: number };

const HOUR_MS = 60 * 60 * 1000;
const S3_HABITS: S3Habits = { ...S3_TIMING, freshMs: HOUR_MS, abandonedMs: 24 * HOUR_MS };

/** Blobs in an S3 bucket, named by their SHA-256. `spool` is a directory for what is too large to wait in memory. */
export function openS3(settings: S3Settings, spool: string, writer: Writer, habits = S3_HABITS): Blobs {
  const { bucket: Bucket, prefix } = settings;
  const folder = `${prefix}blobs/`;
  const keyOf = (sha256: string) => `${folder}${sha256}`;
  const turns = createTurns(LARGE_AT_ONCE);
  let connected: Promise<S3> | null = null;
  const ask = async <T>(body: (s3: S3) => Promise<T>): Promise<T> => {
    try {
      connected ??= connectS3(settings, habits);
      return await body(await connected);
    } catch (error) {
      throw translateS3(error, settings);
    }
  };
  const head = (sha256: string) =>
    ask(async ({ sdk, client }): Promise<StoredBlob | null> => {
      try {
        const found = await client.send(new sdk.HeadObjectCommand({ Bucket, Key: keyOf(sha256) }));
        return { sha256, bytes: found.ContentLength ?? 0, writtenAt: found.LastModified?.getTime() ?? Date.now() };
      } catch (error) {
        if (isAbsent(error)) return null;
        throw error;
      }
    });
  const send = async ({ sha256, bytes, content }: Spooled): Promise<void> => {
    if ('bytes' in content) {
      await ask(({ sdk, client }) =>
        client.send(new sdk.PutObjectCommand({ Bucket, Key: keyOf(sha256), Body: content.bytes })),
      );
      return;
    }
    const found = await head(sha256);
    if (found?.bytes === bytes && found.writtenAt > Date.now() - habits.freshMs) return;
    await turns(() =>
      ask(async ({ client }) => {
        const { Upload } = await import('@aws-sdk/lib-storage');
        const Body = createReadStream(content.path);
        try {
          // When it fails, what was sent of it is given up at the server too.
          const params = { Bucket, Key: keyOf(sha256), Body };
          await new Upload({ client, params, partSize: PART_BYTES, queueSize: PARTS_AT_ONCE }).done();
        } finally {
          Body.destroy();
        }
      }),
    );
  };
  return {
    put: content =>
      spooled(content, spool, writer, async blob => {
        await send(blob);
        return { sha256: blob.sha256, bytes: blob.bytes };
      }),
    async read(sha256, range) {
      if (range !== undefined) checkRange(range);
      if (!isBlobName(sha256)) return null;
      const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end ?? ''}` };
      return ask(async ({ sdk, client }) => {
        try {
          const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: keyOf(sha256), ...Range }));
          const content = Body as unknown as AsyncIterable<Uint8Array>;
          const translate = (error: unknown) => translateS3(error, settings);
          return range === undefined ? verified(content, sha256, translate) : plain(content, translate);
        } catch (error) {
          if (isAbsent(error)) return null;
          // Beyond the end there is nothing, which is no fault.
          if (statusOf(error) === 416) return nothing();
          throw error;
        }
      });
    },
    async size(sha256) {
      return isBlobName(sha256) ? ((await head(sha256))?.bytes ?? null) : null;
    },
    async remove(sha256, writtenBefore) {
      const found = isBlobName(sha256) ? await head(sha256) : null;
      // Times are told in whole seconds here: within the last one it may have been written later.
      if (found === null || (writtenBefore !== null && found.writtenAt + 1000 > writtenBefore)) return false;
      await ask(({ sdk, client }) => client.send(new sdk.DeleteObjectCommand({ Bucket, Key: keyOf(sha256) })));
      return true;
    },
    list: ({ limit, after }) =>
      ask(async ({ sdk, client }) => {
        const found = await client.send(
          new sdk.ListObjectsV2Command({
            Bucket,
            Prefix: folder,
            MaxKeys: Math.min(limit, MAX_PAGE),
            ...(after === null ? {} : { StartAfter: keyOf(after) }),
          }),
        );
        return pageOf(found.Contents ?? [], found.IsTruncated === true, folder);
      }),
    url: (sha256, { filename, contentType, seconds }) =>
      ask(async ({ sdk, publicClient }) => {
        checkSeconds(seconds);
        const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
        const { type, disposition } = attachment(filename, contentType);
        const command = new sdk.GetObjectCommand({
          Bucket,
          Key: keyOf(sha256),
          ResponseContentType: type,
          ResponseContentDisposition: disposition,
        });
        return getSignedUrl(publicClient, command, { expiresIn: seconds });
      }),
    // A real write: a bucket that can only be read is of no use.
    check: () =>
      ask(async ({ sdk, client }) => {
        const Key = `${prefix}check`;
        await client.send(new sdk.PutObjectCommand({ Bucket, Key, Body: 'x' }));
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key }));
        await Body?.transformToByteArray();
      }),
    async sweep() {
      await sweepParts(spool, writer);
      await ask(s3 => giveUpAbandoned(s3, Bucket, folder, Date.now() - habits.abandonedMs));
    },
    async close() {
      const s3 = await connected?.catch(() => null);
      s3?.client.destroy();
      s3?.publicClient.destroy();
    },
  };
}

type Listed = { Key?: string | undefined; Size?: number | undefined; LastModified?: Date | undefined };

function pageOf(contents: readonly Listed[], more: boolean, folder: string): BlobPage {
  const items = contents
    .map(({ Key = '', Size = 0, LastModified }) => ({
      sha256: Key.slice(folder.length),
      bytes: Size,
      writtenAt: LastModified?.getTime() ?? Date.now(),
    }))
    .filter(({ sha256 }) => isBlobName(sha256));
  return { items, next: more ? (contents.at(-1)?.Key?.slice(folder.length) ?? null) : null };
}

/** What a killed process had begun to send is kept by the server, unseen and paid for, until somebody gives it up. */
async function giveUpAbandoned({ sdk, client }: S3, Bucket: string, Prefix: string, before: number): Promise<void> {
  const { Uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix }));
  for (const { Key, UploadId, Initiated } of Uploads) {
    if (Initiated === undefined || Initiated.getTime() > before) continue;
    await client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch((error: unknown) => {
      if (!isAbsent(error)) throw error; // somebody else was faster
    });
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** So many at once; the others wait in line. */
function createTurns(max: number): <T>(body: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let going = 0;
  return async body => {
    if (going >= max) await new Promise<void>(resolve => waiting.push(resolve));
    else going++;
    try {
      return await body();
    } finally {
      const next = waiting.shift();
      if (next === undefined) going--;
      else next();
    }
  };
}
