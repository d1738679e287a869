import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDial } from '../../src/egress/dial.ts';
import { DEFAULT_EGRESS_LIMITS, type Egress, type EgressLimits, startEgress } from '../../src/egress/index.ts';
import { run } from '../../src/sandbox/index.ts';
import { BUBBLEWRAPS, ENGINES } from '../support/drivers.ts';
import { errors, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

let port = 0;
const seen: string[] = [];
const origin = createServer((incoming, outgoing) => {
  seen.push(`${incoming.method} ${incoming.url} host=${incoming.headers.host}`);
  if (incoming.url?.startsWith('/raw') === true) {
    // As it stands behind the path, byte by byte.
    outgoing.socket?.end(Buffer.from(decodeURIComponent(incoming.url.slice(4)), 'latin1'));
  } else if (incoming.url === '/large') outgoing.end(Buffer.alloc(3 * 1024 ** 2));
  else outgoing.end(`hello from ${incoming.url}\n`);
});

beforeAll(async () => {
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  port = (origin.address() as AddressInfo).port;
});
afterAll(() => void origin.close());

async function withProxy<T>(
  body: (egress: Egress) => Promise<T>,
  changes: { limits?: Partial<EgressLimits>; private?: boolean; host?: string } = {},
): Promise<T> {
  const rules = [{ host: changes.host ?? '127.0.0.1', port, private: changes.private ?? true }];
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...changes.limits };
  const egress = await startEgress(join(tempDir('egress'), 'proxy'), rules, limits);
  try {
    return await body(egress);
  } finally {
    await egress.close();
  }
}

function get(egress: Egress, path: string, options: { method?: string; body?: string } = {}) {
  return new Promise<{ status: number; body: string; whole: boolean }>((resolve, reject) => {
    const asked = request({ socketPath: egress.socket, path, method: options.method ?? 'GET' }, answer => {
      let body = '';
      answer.setEncoding('latin1').on('data', (chunk: string) => {
        body += chunk;
      });
      answer.on('error', () => undefined);
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, body, whole: answer.complete }));
    });
    asked.on('error', reject);
    asked.end(options.body);
  });
}

/** Sends the lines as they are and answers everything that comes back before the end. */
function talk(egress: Egress, lines: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(egress.socket, () => socket.write(lines));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject).on('close', () => resolve(text));
  });
}

describe('the egress proxy', () => {
  test('SB-07 carries GET to what is on the list, and says what it did', async () => {
    await withProxy(async egress => {
      expect(await get(egress, `http://127.0.0.1:${port}/a?b`)).toEqual({
        status: 200,
        body: 'hello from /a?b\n',
        whole: true,
      });
      expect(seen.at(-1)).toBe(`GET /a?b host=127.0.0.1:${port}`);
      expect(egress.events).toEqual([{ kind: 'allowed', target: `http://127.0.0.1:${port}/a?b`, reason: null }]);
    });
  });

  test.each([
    [
      'a name of a file in Latin-1',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-disposition: x; filename=\u00e4\r\n\r\nfine',
      200,
    ],
    ['a status that is none', 'HTTP/1.1 000 ?\r\ncontent-length: 4\r\n\r\nfine', 502],
    ['another protocol', 'HTTP/1.1 101 Switch\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nfine', 502],
    [
      'interim answers',
      `${'HTTP/1.1 103 Hints\r\nx: y\r\n\r\n'.repeat(5)}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine`,
      200,
    ],
  ])('a host that says %s does not end it', async (_what, said, status) => {
    await withProxy(async egress => {
      const answer = await get(egress, `http://127.0.0.1:${port}/raw${encodeURIComponent(said)}`);
      expect(answer).toMatchObject({ status, ...(status === 200 ? { body: 'fine' } : {}) });
      expect((await get(egress, `http://127.0.0.1:${port}/after`)).body).toBe('hello from /after\n');
    });
  });

  test('SB-07 carries a tunnel', async () => {
    await withProxy(async egress => {
      const answer = await talk(
        egress,
        `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\nGET /tunnel HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 200 Connection established\r\n\r\nHTTP\/1.1 200 OK[\s\S]*hello from \/tunnel/);
    });
  });

  test('refuses every other host, port, method and protocol', async () => {
    await withProxy(async egress => {
      const before = seen.length;
      expect((await get(egress, `http://127.0.0.2:${port}/`)).status).toBe(403);
      expect((await get(egress, 'http://127.0.0.1:1/')).status).toBe(403);
      expect((await get(egress, `http://2130706433:${port}/`)).status).toBe(400);
      expect((await get(egress, '/relative')).status).toBe(400);
      expect((await get(egress, `http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })).status).toBe(405);
      expect((await get(egress, `http://127.0.0.1:${port}/`, { method: 'DELETE' })).status).toBe(405);
      const withBody = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx`;
      expect(await talk(egress, withBody)).toMatch(/^HTTP\/1.1 413/);
      expect(await talk(egress, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/^HTTP\/1.1 403/);
      expect(await talk(egress, `CONNECT [::ffff:127.0.0.1]:${port} HTTP/1.1\r\nhost: x\r\n\r\n`)).toMatch(
        /^HTTP\/1.1 400/,
      );
      const upgrade = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;
      expect(await talk(egress, upgrade)).toBe('');
      expect(await talk(egress, 'SSH-2.0-nonsense\r\n\r\n')).toBe('');
      expect(seen).toHaveLength(before);
      expect(egress.events.every(event => event.kind === 'refused')).toBe(true);
    });
  });

  test('does not reach this machine for a host that the operator did not name', async () => {
    await withProxy(
      async egress => {
        const answer = await get(egress, `http://localhost:${port}/`);
        expect(answer).toMatchObject({
          status: 502,
          body: expect.stringContaining('no address that may be reached') as string,
        });
      },
      { private: false, host: 'localhost' },
    );
  });

  test('dials the address that was vetted, also when the name points elsewhere a moment later', async () => {
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['10.0.0.1']];
    let asked = 0;
    const dial = createDial(async () => answers[asked++] ?? [], 1000);
    for (let turn = 0; turn < 3; turn++) {
      const socket = await dial({ host: 'rebinding.example', port, private: true });
      if ('refused' in socket) throw new Error(socket.refused);
      expect(socket.remoteAddress).toBe('127.0.0.1');
      socket.destroy();
    }
    expect(asked).toBe(1);
  });

  test('bounds what is carried, the headers, and the time for them', async () => {
    await withProxy(
      async egress => {
        expect((await get(egress, `http://127.0.0.1:${port}/large`)).whole).toBe(false);
        const tunnel = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`;
        const answer = await talk(egress, `${tunnel}GET /large HTTP/1.1\r\nhost: x\r\n\r\n`);
        expect(answer.length).toBeLessThan(2 * 1024 ** 2);
        expect(await talk(egress, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nx: ${'y'.repeat(5000)}\r\n\r\n`)).toBe('');
        const slow = Date.now();
        await talk(egress, 'GET http://127.0.0.1');
        expect(Date.now() - slow).toBeLessThan(5000);
      },
      { limits: { receivedBytes: 1024 ** 2, headerBytes: 4096, headersMs: 500 } },
    );
  });

  test('dies with its parent, and leaves nothing when closed', async () => {
    const directory = join(tempDir('egress'), 'proxy');
    const script = `
      const { startEgress, DEFAULT_EGRESS_LIMITS } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/egress/index.ts'))});
      const egress = await startEgress(${JSON.stringify(directory)}, [], DEFAULT_EGRESS_LIMITS);
      console.log(egress.pid);
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script]);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 5000 }).toBe(false);

    const egress = await startEgress(join(tempDir('egress'), 'proxy'), [], DEFAULT_EGRESS_LIMITS);
    await egress.close();
    expect([existsSync(egress.socket), existsSync(`/proc/${egress.pid}`)]).toEqual([false, false]);
  });
});

describe.each([...BUBBLEWRAPS.filter(one => !one.name.includes('spare')), ...ENGINES])('$name', driver => {
  test.skipIf(driver.skip !== null)(
    'SB-07 a run with egress finds the proxy at 127.0.0.1:3128, and nothing else',
    async () => {
      const subject = await driver.make();
      const { sandbox } = subject;
      const script = `
import socket, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({'http': 'http://127.0.0.1:3128'}))
print(opener.open('http://127.0.0.1:${port}/inside').read().decode(), end='')
print(len(opener.open('http://127.0.0.1:${port}/large').read()))
try: opener.open('http://127.0.0.2:${port}/')
except Exception as error: print(error)
try: socket.create_connection(('127.0.0.1', ${port}), 2)
except Exception as error: print(type(error).__name__)
`;
      const open = process.getuid?.() === 0 ? 0o755 : 0o700;
      try {
        // The sandbox of another user must reach the socket of this one; in use, both belong to the same user.
        const egress = await startEgress(
          join(tempDir('egress', open), 'proxy'),
          [{ host: '127.0.0.1', port, private: true }],
          DEFAULT_EGRESS_LIMITS,
        );
        try {
          await openTo(egress);
          subject.give(egress.socket);
          const network = { kind: 'egress' as const, socket: egress.socket, at: '/sandbox/net/proxy.sock' };
          const outcome = await run(sandbox, specOf(['python3', '-I', '-c', script], { network }), QUIET);
          expect(errors(outcome)).toBe('');
          expect(text(outcome).split('\n')).toEqual([
            'hello from /inside',
            String(3 * 1024 ** 2),
            'HTTP Error 403: Forbidden',
            'ConnectionRefusedError',
            '',
          ]);
          const without = await run(sandbox, specOf(['python3', '-I', '-c', script]), QUIET);
          expect(without.end).toEqual({ kind: 'exited', code: 1 });
        } finally {
          await egress.close();
        }
      } finally {
        await subject.close();
      }
    },
  );
});

async function openTo(egress: Egress): Promise<void> {
  const { chmod } = await import('node:fs/promises');
  await chmod(join(egress.socket, '..'), 0o755);
}
