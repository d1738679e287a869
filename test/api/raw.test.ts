import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ApiServer, type Listening, listen } from '../../src/api/index.ts';
import { serve } from './support.ts';

let server: ApiServer;
let at: Listening;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await serve(
    api => {
      api.get('/v1/open', { config: { scope: 'anyone' } }, async () => ({ ok: true }));
      api.post('/v1/do', { config: { scope: 'run' } }, async request => ({ got: request.body }));
    },
    {
      limits: {
        headersMs: 300,
        requestMs: 700,
        checkMs: 50,
        idleMs: 300,
        maxConnections: 8,
        maxConnectionsPerAddress: 4,
      },
    },
  );
  at = await listen(server, '127.0.0.1', 0);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

async function dial(): Promise<Socket> {
  const socket = connect(at.port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** What comes back until the server ends the connection. */
async function hear(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', piece => {
    text += piece;
  });
  if (!socket.closed) await once(socket, 'close');
  return text;
}

async function say(...pieces: string[]): Promise<string> {
  const socket = await dial();
  const heard = hear(socket);
  for (const piece of pieces) socket.write(piece);
  return heard;
}

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { error: string };
const HEAD = 'Host: localhost\r\nConnection: close\r\n';
const KEY = 'Authorization: Bearer run\r\nContent-Type: application/json\r\n';

const MALFORMED: [string, string, number][] = [
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['no Host', 'GET /v1/open HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['two Hosts', `GET /v1/open HTTP/1.1\r\n${HEAD}Host: evil.example\r\n\r\n`, 403],
  ['an empty Host', 'GET /v1/open HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', 403],
  ['an old request without Host', 'GET /v1/open HTTP/1.0\r\n\r\n', 403],
  ['a header with a line break of its own', `GET /v1/open HTTP/1.1\r\n${HEAD}X: a\rb\r\n\r\n`, 400],
  ['a header name with a blank', `GET /v1/open HTTP/1.1\r\n${HEAD}Content-Length : 0\r\n\r\n`, 400],
  ['two lengths', `POST /v1/do HTTP/1.1\r\n${HEAD}${KEY}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
  [
    'length and chunks',
    `POST /v1/do HTTP/1.1\r\n${HEAD}${KEY}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  [
    'chunks of no size',
    `POST /v1/do HTTP/1.1\r\n${HEAD}${KEY}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    400,
  ],
  ['a length below nothing', `POST /v1/do HTTP/1.1\r\n${HEAD}${KEY}Content-Length: -1\r\n\r\n`, 400],
  ['a huge header', `GET /v1/open HTTP/1.1\r\n${HEAD}X: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ['a huge path', `GET /v1/open?${'a'.repeat(20_000)} HTTP/1.1\r\n${HEAD}\r\n`, 431],
  ['another server as target', `GET http://evil.example/v1/open HTTP/1.1\r\n${HEAD}\r\n`, 403],
  ['a tunnel', `CONNECT evil.example:443 HTTP/1.1\r\n${HEAD}\r\n`, 0],
];

describe('what is no request as it should be', () => {
  it.each(MALFORMED)('%s', async (_name, text, status) => {
    const heard = await say(text);
    expect(statusOf(heard), heard.slice(0, 200)).toBe(status);
    if (status === 431) expect(bodyOf(heard).error).toBe('HEADERS_TOO_LARGE');
    if (status === 400 && heard.includes('{')) expect(bodyOf(heard).error).toBe('BODY_REFUSED');
    // And the server goes on.
    expect(statusOf(await say(`GET /v1/open HTTP/1.1\r\n${HEAD}\r\n`))).toBe(200);
  });

  it('a request that follows another on the connection is its own', async () => {
    const heard = await say(
      'POST /v1/do HTTP/1.1\r\nHost: localhost\r\n',
      `${KEY}Content-Length: 2\r\n\r\n{}`,
      `GET /v1/open HTTP/1.1\r\n${HEAD}\r\n`,
    );
    expect(heard.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });
});

describe('what is slow is cut off', () => {
  it('a connection on which nothing is said', async () => {
    expect(statusOf(await say())).toBe(408);
  });

  it('headers that come letter by letter', async () => {
    const socket = await dial();
    const heard = hear(socket);
    for (const letter of `GET /v1/open HTTP/1.1\r\nX-Slow: ${'a'.repeat(200)}`) {
      if (socket.destroyed || !socket.writable) break;
      socket.write(letter);
      await sleep(20);
    }
    const text = await heard;
    expect([statusOf(text), bodyOf(text).error]).toEqual([408, 'REQUEST_TOO_SLOW']);
  });

  it('a body that never ends', async () => {
    const socket = await dial();
    const heard = hear(socket);
    socket.write(`POST /v1/do HTTP/1.1\r\n${HEAD}${KEY}Content-Length: 100000\r\n\r\n{`);
    const dripping = setInterval(() => socket.write(' '), 50);
    const text = await heard;
    clearInterval(dripping);
    expect(statusOf(text)).toBe(408);
  });

  it('a body of one who may not send it is not waited for', async () => {
    const text = await say('POST /v1/do HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{');
    expect(statusOf(text)).toBe(401);
    expect(text.toLowerCase()).toContain('connection: close');
  });

  it('a connection that is idle after an answer', async () => {
    const heard = await say('GET /v1/open HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(statusOf(heard)).toBe(200);
  });
});

describe('connections', () => {
  it('of one address are counted, and are free again when they end', async () => {
    const held = await Promise.all([dial(), dial(), dial(), dial()]);
    const fifth = await dial();
    expect(await hear(fifth)).toBe('');
    for (const socket of held) socket.destroy();
    await vi.waitFor(async () => expect(statusOf(await say(`GET /v1/open HTTP/1.1\r\n${HEAD}\r\n`))).toBe(200));
  });
});

it('a port that is taken is told in a sentence', async () => {
  const second = await serve(() => undefined);
  const listening = listen(second, '127.0.0.1', at.port);
  await expect(listening).rejects.toMatchObject({
    code: 'CANNOT_LISTEN',
    message: `cannot listen on 127.0.0.1 at port ${at.port}: something else listens there already`,
  });
  await second.close();
});
