import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createSecure, TLSSocket } from 'node:tls';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../../../src/broker/certificates.ts';
import type { HostConnection } from '../../../src/broker/host/connection.ts';
import { DialError, type Pin, Upstream } from '../../../src/broker/host/upstream.ts';
import { createDial } from '../../../src/egress/index.ts';

const authority = createAuthority(Date.now() + 3_600_000);
const stranger = createAuthority(Date.now() + 3_600_000);
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

const made: HostConnection[] = [];
afterEach(() => {
  for (const connection of made.splice(0)) connection.destroy();
});

/** `secured`: who vouches for it, under which name. */
async function hostOf(listener: (socket: Socket) => void, secured: { by: typeof authority; as: string } | null = null) {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    const secureContext = secured?.by.contextFor(secured.as);
    listener(secureContext === undefined ? socket : new TLSSocket(socket, { isServer: true, secureContext }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
}

/** Speaks no other TLS than this. */
async function hostWith(version: 'TLSv1.2' | 'TLSv1.3', listener: (socket: TLSSocket) => void): Promise<number> {
  const server = createSecure(
    { minVersion: version, maxVersion: version, SNICallback: (name, done) => done(null, authority.contextFor(name)) },
    listener,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Answers whatever it is asked. */
function answering(heard: string[] = []): (socket: Socket) => void {
  return socket =>
    void socket
      .on('error', () => undefined)
      .on('data', bytes => {
        heard.push(bytes.toString('latin1'));
        socket.write(ANSWER);
      });
}

function upstreamWith(pins: readonly Pin[], names: Record<string, string> = {}): Upstream {
  const resolve = (host: string) => Promise.resolve([names[host] ?? '192.0.2.1']);
  return new Upstream({
    dial: createDial(resolve, 2000, { halfOpen: false }),
    roots: [authority.pem],
    pins,
    connectMs: 500,
    mostWaiting: 16,
  });
}

async function open(upstream: Upstream, scheme: 'http' | 'https', host: string, port: number): Promise<HostConnection> {
  const connection = await upstream.open({ scheme, host, port }, true);
  made.push(connection);
  return connection;
}

function ask(connection: HostConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.ask(
      { method: 'GET', head: 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', body: Buffer.alloc(0), isChunked: false },
      { head: () => undefined, piece: (_piece, isLast) => void (isLast && resolve()), broken: reject },
    );
  });
}

describe('the way to a host', () => {
  test.each(['host.test', '192.0.2.7'])('%s, wherever it is pinned to, has to prove that it is that', async host => {
    const right = await hostOf(answering(), { by: authority, as: host });
    const pinned = (port: number) => upstreamWith([{ host, port: 443, address: '127.0.0.1', toPort: port }]);
    await ask(await open(pinned(right.port), 'https', host, 443));
    const wrong = [
      { by: authority, as: 'other.test' },
      { by: authority, as: '127.0.0.1' },
      { by: stranger, as: host },
    ];
    for (const secured of wrong) {
      const heard: string[] = [];
      const { port } = await hostOf(answering(heard), secured);
      const opening = open(pinned(port), 'https', host, 443);
      await expect(opening).rejects.toThrow(DialError);
      await expect(opening).rejects.toThrow(`${host} cannot be trusted`);
      expect(heard).toEqual([]);
    }
  });

  test('one that does not shake hands is given up', async () => {
    const { port } = await hostOf(() => undefined);
    await expect(open(upstreamWith([]), 'https', '127.0.0.1', port)).rejects.toThrow('no handshake in time');
  });

  test('a connection is used again, the last one first; no more wait than may, of all hosts together', async () => {
    const { port, sockets } = await hostOf(answering());
    const upstream = upstreamWith([]);
    const origin = { scheme: 'http', host: '127.0.0.1', port } as const;
    expect(upstream.kept(origin, true)).toBeNull();
    const all = await Promise.all(Array.from({ length: 20 }, () => open(upstream, 'http', '127.0.0.1', port)));
    for (const connection of all) await ask(connection);
    await expect.poll(() => sockets.size).toBe(16);
    // What one rule may reach in a private network, another may not.
    expect(upstream.kept(origin, false)).toBeNull();
    expect(upstream.kept(origin, true)).toBe(all[15]);
    expect(upstream.kept(origin, true)).toBe(all[14]);
    const other = await hostOf(answering());
    const others = await Promise.all([1, 2, 3].map(() => open(upstream, 'http', '127.0.0.1', other.port)));
    for (const connection of others) await ask(connection);
    await expect.poll(() => other.sockets.size).toBe(2);
  });

  test('one that the host closed, or that waits too long, is not used again', async () => {
    const { port, sockets } = await hostOf(answering());
    const upstream = upstreamWith([]);
    const origin = { scheme: 'http', host: '127.0.0.1', port } as const;
    const closed = await open(upstream, 'http', '127.0.0.1', port);
    await ask(closed);
    for (const socket of sockets) socket.end();
    await expect.poll(() => closed.isAlive).toBe(false);
    expect(upstream.kept(origin, true)).toBeNull();
    const old = await open(upstream, 'http', '127.0.0.1', port);
    await ask(old);
    old.idleSince -= 5000;
    await expect.poll(() => sockets.size, { timeout: 3000 }).toBe(0);
    expect(upstream.kept(origin, true)).toBeNull();
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a host that speaks %s is asked twice on one connection',
    async version => {
      const spoken: (string | null)[] = [];
      const heard: string[] = [];
      const toPort = await hostWith(version, socket => {
        spoken.push(socket.getProtocol());
        answering(heard)(socket);
      });
      const upstream = upstreamWith([{ host: 'host.test', port: 443, address: '127.0.0.1', toPort }]);
      const connection = await open(upstream, 'https', 'host.test', 443);
      await ask(connection);
      expect(upstream.kept({ scheme: 'https', host: 'host.test', port: 443 }, true)).toBe(connection);
      await ask(connection);
      expect([spoken, heard.length]).toEqual([[version], 2]);
    },
  );
});
