import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Blobs, S3Settings } from '../../src/store/index.ts';
import { openS3 } from '../../src/store/s3.ts';
import { bytesOf, readAll, WRITER } from '../support/record.ts';
import { NO_S3, needsS3, s3Settings } from '../support/s3.ts';
import { type Meddle, startProxy } from '../support/s3-proxy.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
needsS3();

const HOUR_MS = 3_600_000;
const QUICK = { connectMs: 500, silentMs: 500, attempts: 1, freshMs: HOUR_MS, abandonedMs: 24 * HOUR_MS };

/** So many bytes in pieces, no two of which are alike. */
async function* many(bytes: number, seed = 0): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += 65_536) {
    const piece = Buffer.alloc(Math.min(65_536, bytes - at), seed);
    piece.writeUInt32LE(at);
    yield piece;
  }
}

function clientOf({ endpoint, region, credentials }: S3Settings): S3Client {
  const found = {
    endpoint: endpoint ?? '',
    region,
    credentials: credentials ?? { accessKeyId: '', secretAccessKey: '' },
  };
  const client = new S3Client({ ...found, forcePathStyle: true });
  onTestFinished(() => client.destroy());
  return client;
}

async function open(changes: Partial<S3Settings> = {}, habits = QUICK) {
  const settings = await s3Settings(changes);
  const spool = join(tempDir('s3'), 'spool');
  const blobs = openS3(settings, spool, WRITER, { ...habits, silentMs: changes.endpoint === undefined ? 20_000 : 500 });
  onTestFinished(() => blobs.close());
  return { settings, spool, blobs, client: clientOf(settings) };
}

/** The same through a proxy that meddles. */
async function openThrough(meddle: Meddle) {
  const { endpoint } = await s3Settings();
  const proxy = await startProxy(endpoint ?? '', meddle);
  onTestFinished(() => proxy.close());
  const there = await open({ endpoint: proxy.endpoint }, QUICK);
  return { ...there, client: clientOf({ ...there.settings, endpoint }) };
}

describe.skipIf(NO_S3 !== null)(`S3${NO_S3 === null ? '' : `: ${NO_S3}`}`, () => {
  describe('large content', () => {
    it('is spooled, sent in parts, and comes back; nothing stays', async () => {
      const { blobs, spool, client, settings } = await open();
      const { sha256, bytes } = await blobs.put(many(20_000_000));
      expect(bytes).toBe(20_000_000);
      let read = 0;
      for await (const piece of (await blobs.read(sha256)) ?? []) read += piece.length;
      expect(read).toBe(bytes);
      expect(readdirSync(spool)).toEqual([]);
      expect(await uploads(client, settings)).toEqual([]);
      const tail = await readAll(await blobs.read(sha256, { start: 19_999_990, end: null }));
      expect(tail).toHaveLength(10);
    });

    it('that is equal is not sent again while it is fresh, and is once it is old', async () => {
      const sent: string[] = [];
      const { blobs, settings, spool } = await openThrough(({ method, url }) => {
        if (method === 'PUT') sent.push(url ?? '');
        return false;
      });
      await blobs.put(many(2_000_000));
      expect(sent).toHaveLength(1);
      await blobs.put(many(2_000_000));
      expect(sent).toHaveLength(1);
      const later = openS3(settings, spool, WRITER, { ...QUICK, freshMs: -1000 });
      onTestFinished(() => later.close());
      await later.put(many(2_000_000));
      expect(sent).toHaveLength(2);
    });

    it('whose source breaks leaves nothing, here or there', async () => {
      const { blobs, spool, client, settings } = await open();
      const broken = async function* () {
        yield* many(9_000_000);
        throw new Error('broken');
      };
      await expect(blobs.put(broken())).rejects.toThrow('broken');
      expect(readdirSync(spool)).toEqual([]);
      expect(await uploads(client, settings)).toEqual([]);
      expect(await blobs.list({ limit: 10, after: null })).toEqual({ items: [], next: null });
    });

    it('that the server stops taking halfway is given up there too', async () => {
      let refused = 0;
      const { blobs, spool, client, settings } = await openThrough(({ method, url }, answer) => {
        if (method !== 'PUT' || !/partNumber=2/.test(url ?? '')) return false;
        refused++;
        answer.writeHead(500).end();
        return true;
      });
      await expect(blobs.put(many(20_000_000))).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
      expect(refused).toBe(1);
      expect(readdirSync(spool)).toEqual([]);
      expect(await uploads(client, settings)).toEqual([]);
    });

    it('of a process that was killed is swept: its file, and after a day its upload', async () => {
      const { blobs, client, settings, spool } = await open();
      const { bucket: Bucket, prefix } = settings;
      await client.send(new CreateMultipartUploadCommand({ Bucket, Key: `${prefix}blobs/${'a'.repeat(64)}` }));
      await blobs.sweep();
      expect(await uploads(client, settings)).toHaveLength(1);
      const later = openS3(settings, spool, WRITER, { ...QUICK, silentMs: 20_000, abandonedMs: -1000 });
      onTestFinished(() => later.close());
      await later.sweep();
      expect(await uploads(client, settings)).toEqual([]);
    });
  });

  describe('content that is not what its name says', () => {
    it('breaks the stream before its last byte', async () => {
      const { blobs, client, settings } = await open();
      const { sha256 } = await blobs.put(bytesOf('right'));
      const Key = `${settings.prefix}blobs/${sha256}`;
      for (const text of ['wrong', 'x'.repeat(300_000), '']) {
        const Body = Buffer.from(text);
        await client.send(new PutObjectCommand({ Bucket: settings.bucket, Key, Body }));
        const got: Buffer[] = [];
        const reading = (async () => {
          for await (const piece of (await blobs.read(sha256)) ?? []) got.push(piece);
        })();
        await expect(reading).rejects.toMatchObject({ code: 'BLOB_DAMAGED' });
        if (text !== '') expect(Buffer.concat(got).length).toBeLessThan(text.length);
      }
      await blobs.put(bytesOf('right'));
      expect((await readAll(await blobs.read(sha256))).toString()).toBe('right');
    });

    it('a stream that is cut is a fault of the server, not an end', async () => {
      const { blobs } = await openThrough(({ method }, answer) => {
        if (method !== 'GET') return false;
        answer.writeHead(200, { 'content-length': '100000' });
        answer.write(Buffer.alloc(50_000), () => answer.destroy());
        return true;
      });
      const content = await blobs.read('b'.repeat(64));
      await expect(readAll(content)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    });

    it('whoever stops reading closes the connection', async () => {
      let closed = 0;
      const { blobs } = await openThrough(({ method }, answer) => {
        if (method !== 'GET') return false;
        answer.on('close', () => closed++);
        // More is announced than ever comes, so it does not close by itself.
        answer.writeHead(200, { 'content-length': '1000000000' });
        answer.write(Buffer.alloc(300_000));
        return true;
      });
      for await (const piece of (await blobs.read('c'.repeat(64))) ?? []) {
        expect(piece.length).toBeGreaterThan(0);
        break;
      }
      await expect.poll(() => closed, { timeout: 300 }).toBe(1);
    });
  });
});

describe.skipIf(NO_S3 !== null)('S3: what stands against it is said', () => {
  /** Every way to use it says the same. */
  async function expectAll(blobs: Blobs, wanted: object): Promise<void> {
    await expect(blobs.check()).rejects.toMatchObject(wanted);
    await expect(blobs.put(bytesOf('x'))).rejects.toMatchObject(wanted);
    await expect(blobs.read('0'.repeat(64))).rejects.toMatchObject(wanted);
    await expect(blobs.list({ limit: 1, after: null })).rejects.toMatchObject(wanted);
  }
  const says = (message: RegExp, hint: string) => ({
    code: 'BACKEND_UNAVAILABLE',
    message: expect.stringMatching(message),
    hint: expect.stringContaining(hint),
  });

  it('a bucket that is not there', async () => {
    const { blobs } = await open({ bucket: 'nobody-made-this' });
    await expectAll(blobs, says(/"nobody-made-this".*no such bucket/, 'store.s3.bucket'));
  });

  it('a wrong secret, an unknown access key', async () => {
    const { credentials } = await s3Settings();
    const accessKeyId = credentials?.accessKeyId ?? '';
    const wrong = await open({ credentials: { accessKeyId, secretAccessKey: 'wrong' } });
    await expectAll(wrong.blobs, says(/secret/, 'store.s3.secretAccessKey'));
    const unknown = await open({ credentials: { accessKeyId: 'nobody', secretAccessKey: 'wrong' } });
    await expectAll(unknown.blobs, says(/access key/, 'store.s3.accessKeyId'));
    await expect(wrong.blobs.size('0'.repeat(64))).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
  });

  it('no credentials at all', async () => {
    const { blobs } = await open({ credentials: null });
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) keepEnv(name, undefined);
    keepEnv('AWS_EC2_METADATA_DISABLED', 'true');
    keepEnv('AWS_SHARED_CREDENTIALS_FILE', '/nonexistent');
    keepEnv('AWS_CONFIG_FILE', '/nonexistent');
    await expectAll(blobs, says(/no credentials/, 'store.s3.accessKeyId'));
  });

  it('credentials are found where the SDK looks for them', async () => {
    const { credentials } = await s3Settings();
    const { blobs } = await open({ credentials: null });
    keepEnv('AWS_ACCESS_KEY_ID', credentials?.accessKeyId);
    keepEnv('AWS_SECRET_ACCESS_KEY', credentials?.secretAccessKey);
    await blobs.check();
  });

  it('nobody listens', async () => {
    const { blobs } = await open({ endpoint: 'http://127.0.0.1:1' });
    await expectAll(blobs, says(/ECONNREFUSED/, 'store.s3.endpoint'));
  });

  it('a server that is silent', async () => {
    const { blobs } = await openThrough(() => true);
    await expectAll(blobs, says(/does not answer \(TimeoutError\)/, 'store.s3.endpoint'));
  });

  it.each([500, 502, 503, 429])('a server that answers %i', async status => {
    const { blobs } = await openThrough((_, answer) => {
      answer.writeHead(status).end('<html>no XML</html>');
      return true;
    });
    await expectAll(blobs, { code: 'BACKEND_UNAVAILABLE', message: expect.stringContaining(String(status)) });
  });

  it('a bucket that is full', async () => {
    const { blobs } = await openThrough(({ method }, answer) => {
      if (method !== 'PUT') return false;
      answer.writeHead(403).end('<Error><Code>QuotaExceeded</Code></Error>');
      return true;
    });
    await expect(blobs.put(bytesOf('x'))).rejects.toMatchObject({ code: 'UNWRITABLE' });
  });

  it('a bucket that may only be read does not pass as working', async () => {
    const { blobs } = await openThrough(({ method }, answer) => {
      if (method !== 'PUT') return false;
      answer.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      return true;
    });
    await expect(blobs.check()).rejects.toMatchObject(says(/may not/, 'write'));
  });
});

function keepEnv(name: string, value: string | undefined): void {
  const before = process.env[name];
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

async function uploads(client: S3Client, { bucket: Bucket, prefix: Prefix }: S3Settings): Promise<unknown[]> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix }));
  return Uploads;
}
