import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectSecure, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { briefOf, endpointOf, newToken, openBroker } from '../support/broker.ts';
import { tidy } from '../support/temp.ts';
import { UpstreamServer } from '../support/upstream.ts';

tidy();

const HOST = 'api.anthropic.com';

test('the host inside a tunnel is the same however it is written, and no other', async () => {
  const { broker, client, tunnel, secured } = await opened();
  expect(await tunnel(client)).toContain(' 200 ');
  const inside = await secured();
  for (const host of ['API.Anthropic.com', 'api.anthropic.com:443', 'API.ANTHROPIC.COM:443', 'other.anthropic.com']) {
    inside.write(`GET /v1/nothing HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    await once(inside, 'data');
  }
  expect(broker.events.map(event => 'reason' in event && event.reason)).toEqual([
    ...Array<string>(3).fill('the path /v1/nothing is not granted'),
    'the request names another host than its tunnel',
  ]);
});

test('a handshake that is not brought to its end holds no connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { client, tunnel } = await opened();
  expect(await tunnel(client)).toContain(' 200 ');
  const closed = once(client, 'close');
  client.write(Buffer.from([0x16, 3, 1]));
  // Until they have been read.
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
  vi.advanceTimersByTime(10_000);
  await closed;
});

test('a tunnel on a connection that still owes an answer is refused: the two would write into each other', async () => {
  const host = await new UpstreamServer(false, async ({ url }, outgoing) => {
    await new Promise(resolve => setTimeout(resolve, url === '/slow' ? 200 : 0));
    outgoing.end('fine');
  }).start();
  onTestFinished(() => host.close());
  const { port } = host;
  const place = `127.0.0.1:${port}`;
  const token = newToken();
  const at = endpointOf({ scheme: 'http', host: '127.0.0.1', port, methods: ['GET'], path: '/*', allowPrivate: true });
  const broker = await openBroker(briefOf(token, { endpoints: [at] }));
  onTestFinished(() => broker.close());
  const client = connect(broker.socket).on('error', () => undefined);
  const closed = once(client.resume(), 'close');
  const shown = `proxy-authorization: Bearer ${token}\r\n\r\n`;
  client.write(`GET http://${place}/slow HTTP/1.1\r\nhost: ${place}\r\n${shown}`);
  client.write(`CONNECT ${place} HTTP/1.1\r\nhost: ${place}\r\n${shown}GET /a HTTP/1.1\r\nhost: ${place}\r\n\r\n`);
  setTimeout(() => client.write(`GET /b HTTP/1.1\r\nhost: ${place}\r\n\r\n`), 500);
  await closed;
  expect(host.requests.filter(({ url }) => url !== '/slow')).toEqual([]);
  expect(broker.events).toContainEqual(
    expect.objectContaining({ event: 'denied', reason: 'a tunnel on a connection that still owes an answer' }),
  );
});

async function opened() {
  const token = newToken();
  const broker = await openBroker(briefOf(token, { endpoints: [endpointOf()] }));
  onTestFinished(() => broker.close());
  const client = connect(broker.socket).on('error', () => undefined);
  onTestFinished(() => void client.destroy());
  const tunnel = async (from: Socket) => {
    from.write(`CONNECT ${HOST}:443 HTTP/1.1\r\nhost: ${HOST}\r\nproxy-authorization: Bearer ${token}\r\n\r\n`);
    const [said] = (await once(from, 'data')) as [Buffer];
    return said.toString().split('\r\n', 1)[0];
  };
  const secured = async (): Promise<TLSSocket> => {
    const socket = connectSecure({ socket: client, servername: HOST, ca: broker.ca });
    await once(socket, 'secureConnect');
    return socket.on('error', () => undefined);
  };
  return { broker, client, tunnel, secured };
}

test.each(['plain', 'TLS'])('a tunnel inside a tunnel (%s) is refused: some dozens would end the broker', async way => {
  const { broker, client, tunnel, secured } = await opened();
  expect(await tunnel(client)).toContain(' 200 ');
  const inside = way === 'TLS' ? await secured() : client;
  expect(await tunnel(inside)).toContain(' 403 ');
  expect(broker.events).toMatchObject([{ event: 'denied', method: 'CONNECT', reason: 'a tunnel inside a tunnel' }]);
});
