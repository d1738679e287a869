import { afterEach, expect, it } from 'vitest';
import type { ApiServer } from '../../src/api/index.ts';
import { linkRoutes } from '../../src/api/links.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { serve } from './support.ts';

let server: ApiServer;
afterEach(() => server?.close());

const NAME = 'ab'.repeat(32);
const start = async () => {
  const asked: string[] = [];
  server = await serve(
    linkRoutes(async (sha256, query) => {
      asked.push(`${sha256} ${query.toString()}`);
      if (query.get('signature') !== 'good') throw new SkillboxError('LINK_REFUSED', 'altered');
      const content = (async function* () {
        yield Buffer.from('<script>');
        yield Buffer.from('alert(1)</script>');
      })();
      return { filename: '../a"\r\nb.html', contentType: 'text/html', bytes: 25, content };
    }),
  );
  return asked;
};

it('a signed link brings bytes to save, whatever they are', async () => {
  const asked = await start();
  const answer = await server.inject(`/v1/blobs/${NAME}?signature=good&filename=a%20b&filename=c`);
  expect([answer.statusCode, answer.body]).toEqual([200, '<script>alert(1)</script>']);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': '25',
    'x-content-type-options': 'nosniff',
  });
  expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="[^"\r\n/]+"/);
  expect(answer.headers['content-security-policy']).toContain('sandbox');
  // As it was sent, twice the same name included: the signature is over all of it.
  expect(asked).toEqual([`${NAME} signature=good&filename=a+b&filename=c`]);
});

it.each([
  [`/v1/blobs/${NAME}?signature=bad`, 'LINK_REFUSED'],
  [`/v1/blobs/${NAME}`, 'LINK_REFUSED'],
  ['/v1/blobs/..%2f..%2fetc%2fpasswd?signature=good', 'BODY_REFUSED'],
  [`/v1/blobs/${NAME.toUpperCase()}?signature=good`, 'BODY_REFUSED'],
])('%s is refused', async (url, code) => {
  await start();
  expect((await server.inject(url)).json().error).toBe(code);
});
