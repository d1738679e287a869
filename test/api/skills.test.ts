import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { as } from './support.ts';
import { archiveOf, listening, publish, type Served, serveWorld } from './world.ts';

let served: Served;
let url: string;
beforeAll(async () => {
  served = await serveWorld({ maxUploadBytes: 100_000 });
  url = await listening(served.server);
});
beforeEach(() => served.world.tenants.clear());
afterAll(() => served.server.close());

const zip = (payload: Buffer, query = '', type = 'application/zip') =>
  served.server.inject({
    method: 'POST',
    url: `/v1/skills${query}`,
    payload,
    headers: { ...as('publish'), 'content-type': type },
  });
const get = (url: string) => served.server.inject({ url, headers: as('read') });

type FormPart = [name: string, filename: string | null, content: string | Buffer];
function form(parts: FormPart[]): Buffer {
  const pieces = parts.flatMap(([name, filename, content]) => [
    `--sep\r\nContent-Disposition: form-data; name="${name}"${filename === null ? '' : `; filename="${filename}"`}\r\n\r\n`,
    content,
    '\r\n',
  ]);
  return Buffer.concat([...pieces, '--sep--\r\n'].map(piece => Buffer.from(piece)));
}
const FORM = 'multipart/form-data; boundary=sep';

describe('publishing', () => {
  it('takes a zip, and the file of a form; the same again is no fault, other bytes are', async () => {
    const first = await zip(archiveOf('a', '1.0.0'), '?tag=stable&tag=x');
    expect([first.statusCode, first.headers.location]).toEqual([201, '/v1/skills/a/1.0.0']);
    expect(first.json()).toMatchObject({
      name: 'a',
      version: '1.0.0',
      created: true,
      tags: ['stable', 'x'],
      warnings: [],
    });
    expect((await zip(archiveOf('a', '1.0.0'), '', 'application/octet-stream')).statusCode).toBe(200);
    expect((await zip(archiveOf('a', '1.0.0', 'x'))).statusCode).toBe(409);
    const formed = await zip(form([['file', 'b.zip', archiveOf('b', '2.0.0')]]), '', FORM);
    expect([formed.statusCode, formed.json().name]).toEqual([201, 'b']);
    expect((await zip(archiveOf('c', ''), '?version=3.0.0')).json().version).toBe('3.0.0');
  });

  it.each([
    ['an empty body', Buffer.alloc(0), 'application/zip', 400, 'BODY_REFUSED'],
    ['no form at all', Buffer.from('x'), FORM, 400, 'BODY_REFUSED'],
    ['a form without a file', form([['tag', null, 'x']]), FORM, 400, 'BODY_REFUSED'],
    ['a form with a file of another name', form([['other', 'a.zip', 'skill a 1']]), FORM, 400, 'BODY_REFUSED'],
    ['a form with an empty file', form([['file', 'a.zip', '']]), FORM, 400, 'BODY_REFUSED'],
    ['a form without a border', Buffer.from('x'), 'multipart/form-data', 400, 'BODY_REFUSED'],
    ['JSON', Buffer.from('{}'), 'application/json', 415, 'MEDIA_TYPE_REFUSED'],
    ['text', Buffer.from('x'), 'text/plain', 415, 'MEDIA_TYPE_REFUSED'],
    ['no skill', Buffer.from('x'), 'application/zip', 422, 'INVALID_SKILL'],
    ['too much', Buffer.alloc(100_001), 'application/zip', 413, 'BODY_TOO_LARGE'],
    ['a file that is too much', form([['file', 'a.zip', Buffer.alloc(100_001)]]), FORM, 413, 'BODY_TOO_LARGE'],
  ])('refuses %s', async (_what, payload, type, status, code) => {
    const answer = await zip(payload, '', type);
    expect([answer.statusCode, answer.json().error]).toEqual([status, code]);
    expect(served.world.tenant('acme').skills.size).toBe(0);
  });

  it.each([
    ['a field before its file', [['tag', null, 'x']], []],
    ['a field after its file', [], [['version', null, '9.9.9']]],
    ['a second file', [], [['file', 'b.zip', archiveOf('b', '1.0.0')]]],
    ['the same field many times', [], Array.from({ length: 50 }, () => ['tag', null, 'x'])],
  ] as [string, FormPart[], FormPart[]][])(
    'refuses a form with %s: nothing that was meant is passed over',
    async (_what, before, after) => {
      const answer = await zip(form([...before, ['file', 'a.zip', archiveOf('a', '1.0.0')], ...after]), '', FORM);
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'BODY_REFUSED']);
      expect(answer.json().message).toContain('nothing but the file "file"');
      expect(answer.json().hint).toContain('query');
      expect(served.world.tenant('acme').skills.size).toBe(0);
    },
  );

  it('a body without a length is counted as it comes', async () => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 10_000;
        controller.enqueue(new Uint8Array(10_000));
        if (sent > 5_000_000) controller.close();
      },
    });
    const headers = { ...as('publish'), 'content-type': 'application/zip' };
    const answer = await fetch(`${url}/v1/skills`, { method: 'POST', body, headers, duplex: 'half' });
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([413, 'BODY_TOO_LARGE']);
  });
});

describe('finding', () => {
  it('answers an array, and a Link to the next part', async () => {
    for (const name of ['a', 'b', 'c']) await publish(served.server, name);
    const all = await get('/v1/skills');
    expect([all.json().map((each: { name: string }) => each.name), all.headers.link]).toEqual([
      ['a', 'b', 'c'],
      undefined,
    ]);
    const first = await get('/v1/skills?limit=2');
    expect([first.json().length, first.headers.link]).toEqual([2, '</v1/skills?limit=2&after=2>; rel="next"']);
    expect((await get('/v1/skills?status=pending')).json()).toEqual([]);
    expect((await get('/v1/skills?q=does+b')).json().length).toBe(1);
  });

  it('tells which version is active', async () => {
    await publish(served.server, 'a', '1.0.0');
    await publish(served.server, 'a', '2.0.0');
    const yank = (version: string) =>
      served.server.inject({ method: 'DELETE', url: `/v1/skills/a/${version}?reason=bad`, headers: as('publish') });
    const active = async () =>
      (await get('/v1/skills/a/versions'))
        .json()
        .map((each: { version: string; active: boolean; status: string }) => [each.version, each.active, each.status]);
    expect((await active()).filter((each: unknown[]) => each[1])).toHaveLength(1);
    expect((await yank('latest')).statusCode).toBe(204);
    expect((await yank('2.0.0')).statusCode).toBe(204);
    expect((await active()).map((each: unknown[]) => each[2])).toContain('yanked');
    await yank('1.0.0');
    expect((await active()).filter((each: unknown[]) => each[1])).toEqual([]);
  });

  it('gives one file as text and as it is', async () => {
    await publish(served.server, 'a');
    expect((await get('/v1/skills/a/latest/files')).json()).toEqual([
      { path: 'SKILL.md', size_bytes: 14, content: null },
    ]);
    expect((await get('/v1/skills/a/latest/files?path=SKILL.md')).json()[0].content).toBe('skill a 1.0.0\n');
    const raw = await get('/v1/skills/a/latest/files/SKILL.md');
    expect([raw.body, raw.headers['content-disposition']]).toEqual([
      'skill a 1.0.0\n',
      `attachment; filename="SKILL.md"; filename*=UTF-8''SKILL.md`,
    ]);
    const archive = await get('/v1/skills/a/1.0.0/download');
    expect([archive.headers['content-type'], archive.body]).toEqual(['application/zip', 'skill a 1.0.0\n']);
  });
});
