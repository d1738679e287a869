import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendDownload } from '../../src/api/download.ts';
import type { ApiServer } from '../../src/api/index.ts';
import { listen } from '../../src/api/index.ts';
import { serve } from './support.ts';

/** What is announced is ten bytes long. */
const STORED: Readonly<Record<string, string[]>> = {
  whole: ['01234', '56789'],
  short: ['0123'],
  empty: [],
  long: ['0123456789', 'and more'],
};
let server: ApiServer;
let url: string;
beforeAll(async () => {
  server = await serve(api => {
    api.get('/v1/:name', { config: { scope: 'anyone' } }, (request, reply) => {
      const { name } = request.params as { name: string };
      const content = (async function* () {
        for (const part of STORED[name] ?? []) yield Buffer.from(part);
      })();
      const sha256 = 'a'.repeat(64);
      return sendDownload(reply, { filename: name, type: 'application/zip', bytes: 10, sha256, content });
    });
  });
  ({ url } = await listen(server, '127.0.0.1', 0));
});
afterAll(() => server.close());

const get = (name: string, method = 'GET') => fetch(`${url}/v1/${name}`, { method, signal: AbortSignal.timeout(5000) });

describe('bytes of somebody’s', () => {
  it('come as they are announced', async () => {
    expect(await (await get('whole')).text()).toBe('0123456789');
    expect((await get('short', 'HEAD')).headers.get('content-length')).toBe('10');
  });

  it('that end too early end the connection: nobody waits for the rest', async () => {
    const begun = performance.now();
    const failed = await get('short')
      .then(answer => answer.text())
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    expect(performance.now() - begun).toBeLessThan(4000);
  });

  it('that are gone altogether are a refusal', async () => {
    const answer = await get('empty');
    expect([answer.status, answer.headers.get('etag'), answer.headers.get('content-disposition')]).toEqual([
      500,
      null,
      null,
    ]);
    expect(await answer.json()).toMatchObject({ error: 'BLOB_DAMAGED' });
  });

  it('that are too many are cut, and the next answer is the next answer', async () => {
    expect(await (await get('long')).text()).toBe('0123456789');
    expect(await (await get('whole')).text()).toBe('0123456789');
  });
});
