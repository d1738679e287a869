import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBlobs, type S3Settings } from '../../src/store/index.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { S3_SERVERS } from '../support/s3.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
for (const { needed } of S3_SERVERS) needed();

const WISH = { filename: 'out/report.html', contentType: 'text/html', seconds: 60, tenant: 'acme' };
const CONTENT = '<script>alert(1)</script>';

/** The parameter changed by one character. */
function alter(url: string, name: string): string {
  const altered = new URL(url);
  const was = altered.searchParams.get(name) ?? '';
  altered.searchParams.set(name, was.slice(0, -1) + (was.endsWith('1') ? '2' : '1'));
  return altered.href;
}

const THERE = S3_SERVERS.filter(({ missing }) => missing === null);
for (const { name, missing } of S3_SERVERS) if (missing !== null) it.skip(`${name}: ${missing}`);

describe.for(THERE)('SB-09 URLs signed for $name', ({ settings: settingsOf }) => {
  async function open(changes: Partial<S3Settings> = {}) {
    const settings = await settingsOf(changes);
    const blobs = openBlobs({ kind: 's3', s3: settings }, tempDir('s3-url'), WRITER);
    onTestFinished(() => blobs.close());
    return { settings, blobs };
  }

  async function signed(wish = WISH) {
    const { blobs, settings } = await open();
    const { sha256 } = await blobs.put(bytesOf(CONTENT));
    return { sha256, settings, url: await blobs.url(sha256, wish) };
  }

  it('bring the content, to be saved and never shown', async () => {
    const { url } = await signed();
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(CONTENT);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="report.html"; filename*=UTF-8''report.html`,
    );
  });

  it('any file name comes back as it should', async () => {
    const { url } = await signed({ ...WISH, filename: 'Übersicht "März" 100%.txt', contentType: 'text/plain' });
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const encoded = answer.headers.get('content-disposition')?.split("UTF-8''")[1] ?? '';
    expect(decodeURIComponent(encoded)).toBe('Übersicht _März_ 100%.txt');
  });

  it.each([
    'X-Amz-Signature',
    'X-Amz-Expires',
    'X-Amz-Date',
    'X-Amz-Credential',
    'response-content-disposition',
    'response-content-type',
  ])('are refused with another %s', async name => {
    const { url } = await signed();
    expect((await fetch(alter(url, name))).status).toBeGreaterThanOrEqual(400);
    expect((await fetch(url)).status).toBe(200);
  });

  it('are refused for another blob, for another method, and without a signature', async () => {
    const { url, sha256 } = await signed();
    expect(
      (
        await fetch(
          url.replace(
            sha256,
            sha256.replace(/^./, first => (first === '0' ? '1' : '0')),
          ),
        )
      ).status,
    ).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403);
    // Swift takes it for a request in its own language.
    expect([400, 403]).toContain((await fetch(url.split('?')[0] ?? '')).status);
    expect((await fetch(url)).status).toBe(200);
  });

  it('are refused when the secret is another', async () => {
    const { settings, sha256 } = await signed();
    const credentials = { accessKeyId: settings.credentials?.accessKeyId ?? '', secretAccessKey: 'wrong' };
    const { blobs } = await open({ ...settings, credentials });
    expect((await fetch(await blobs.url(sha256, WISH))).status).toBe(403);
  });

  it('are refused when they have expired', async () => {
    const { url } = await signed({ ...WISH, seconds: 1 });
    await sleep(2100);
    expect((await fetch(url)).status).toBe(403);
  });

  it.each([0, -1, 604_801, 1.5, Number.NaN])('cannot last %d seconds', async seconds => {
    const { blobs } = await open();
    await expect(blobs.url('0'.repeat(64), { ...WISH, seconds })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('name the server as callers reach it', async () => {
    const { blobs } = await open({ publicEndpoint: 'https://files.example.org' });
    const { sha256 } = await blobs.put(bytesOf('x'));
    expect(new URL(await blobs.url(sha256, WISH)).origin).toBe('https://files.example.org');
  });
});
