import { once } from 'node:events';
import { type AddressInfo, createServer, Socket, connect as tcpConnect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createDial, type Open } from '../../src/egress/dial.ts';

const CONNECT_MS = 400;
const DEAD = Array.from({ length: 12 }, (_, at) => `192.0.2.${at + 1}`);
const RULE = { host: 'host.test', port: 443, private: true };

async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  return [await work, performance.now() - start];
}

/** Dead addresses never answer; the live one leads to loopback. */
async function opening(): Promise<{ open: Open; tried: (string | undefined)[] }> {
  const server = createServer(socket => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const tried: (string | undefined)[] = [];
  const open: Open = ({ host }) => {
    tried.push(host);
    return host === '127.0.0.1' ? tcpConnect({ host, port }) : new Socket();
  };
  return { open, tried };
}

test('a host whose addresses are all dead is given up after the time for one, and each of them was tried', async () => {
  const { open, tried } = await opening();
  const [outcome, ms] = await timed(createDial(async () => DEAD, CONNECT_MS)(RULE, open));
  expect(outcome).toEqual({ refused: 'host.test:443 cannot be reached: no answer in time' });
  expect(ms).toBeLessThan(2 * CONNECT_MS);
  expect(tried).toEqual(DEAD);
});

test('dead addresses leave the others enough of the time', async () => {
  const { open } = await opening();
  const [socket, ms] = await timed(createDial(async () => [...DEAD, '127.0.0.1'], CONNECT_MS)(RULE, open));
  if ('refused' in socket) throw new Error(socket.refused);
  expect(socket.remoteAddress).toBe('127.0.0.1');
  expect(ms).toBeLessThan(2 * CONNECT_MS);
  socket.destroy();
});

test('a name server that does not answer is not waited for any longer', async () => {
  const [outcome, ms] = await timed(createDial(() => new Promise(() => undefined), CONNECT_MS)(RULE));
  expect(outcome).toEqual({ refused: 'host.test cannot be resolved: no answer in time' });
  expect(ms).toBeLessThan(2 * CONNECT_MS);
});
