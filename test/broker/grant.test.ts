import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { Endpoint } from '../../src/broker/index.ts';
import { briefOf, customOf, endpointOf, KEY, newToken, OTHER_KEY, openBroker } from '../support/broker.ts';
import { tidy } from '../support/temp.ts';

tidy();

/** A host that two providers have, with a broker before it; asked, it tells which keys came. */
async function twoProviders(changes: Partial<Endpoint> = {}) {
  const host = createServer(({ headers }, response) => {
    response.end(JSON.stringify([headers.authorization === `Bearer ${KEY}`, headers['x-over-key'] === OTHER_KEY]));
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  const { port } = host.address() as AddressInfo;
  const at = {
    scheme: 'http',
    host: '127.0.0.1',
    port,
    methods: ['GET'],
    path: '/v1/models',
    allowPrivate: true,
  } as const;
  const endpoints = [
    endpointOf({
      ...at,
      methods: ['GET'],
      provider: 'openai',
      capability: 'openai/models.list',
      auth: { form: 'bearer', value: KEY },
    }),
    endpointOf({
      ...at,
      methods: ['GET'],
      provider: 'over',
      capability: 'over/models',
      auth: { form: 'header', name: 'x-over-key', value: OTHER_KEY },
      ...changes,
    }),
  ];
  const token = newToken();
  const origin = `http://127.0.0.1:${port}`;
  const customs = [customOf({ hosts: [origin] })];
  const broker = await openBroker(briefOf(token, { endpoints, customs, hosts: [origin] }));
  onTestFinished(async () => {
    await broker.close();
    host.close();
  });
  const ask = async (path: string, body?: string) => {
    const headers = { authorization: `Bearer ${token}`, 'proxy-authorization': `Bearer ${token}` };
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request({ socketPath: broker.socket, path, method, headers });
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, said: await text(answer) };
  };
  /** The same by CONNECT, as the variables for proxies lead there. */
  const tunnel = async (path: string) => {
    const headers = { 'proxy-authorization': `Bearer ${token}` };
    const opened = request({ socketPath: broker.socket, method: 'CONNECT', path: `127.0.0.1:${port}`, headers });
    opened.end();
    const [, inside] = (await once(opened, 'connect')) as [IncomingMessage, Socket];
    inside.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
    const said = await text(inside);
    return { status: Number(said.slice(9, 12)), said };
  };
  const used = () => broker.events.flatMap(event => (event.event === 'used' ? [event.capability] : []));
  return { ask, tunnel, origin, used };
}

test('SK-07 a URL that names a provider gets the key of that provider, also where another has the same host', async () => {
  const { ask, used } = await twoProviders();
  expect(await ask('/api/over/v1/models')).toEqual({ status: 200, said: '[false,true]' });
  expect(await ask('/v1/proxy/over/v1/models')).toEqual({ status: 200, said: '[false,true]' });
  expect(await ask('/api/openai/v1/models')).toEqual({ status: 200, said: '[true,false]' });
  expect(used()).toEqual(['over/models', 'over/models', 'openai/models.list']);
});

test('SK-07 a URL that names a provider goes nowhere by what another one, a bound secret or a network grants', async () => {
  const { ask, used } = await twoProviders({ path: '/v1/others' });
  expect((await ask('/api/over/v1/models')).status).toBe(403);
  expect((await ask('/api/over/v1/nothing')).status).toBe(403);
  expect((await ask('/api/over/v1/others')).status).toBe(200);
  expect(used()).toEqual(['over/models']);
});

test('SK-07 a request that two keys fit and that names no provider is refused, and says what to do', async () => {
  const { ask, tunnel, origin, used } = await twoProviders();
  for (const { status, said } of [
    await ask(`${origin}/v1/models`),
    await tunnel('/v1/models'),
    await ask('/v1/proxy/request', JSON.stringify({ url: `${origin}/v1/models` })),
  ]) {
    expect(status).toBe(403);
    expect(said).toContain('openai/models.list and over/models fit this request');
    expect(said).toContain('$SEKS_BROKER_URL/api/openai/v1/models or $SEKS_BROKER_URL/api/over/v1/models');
  }
  expect(used()).toEqual([]);
});

test('SK-07 endpoints with one key may overlap', async () => {
  const own = {
    provider: 'openai',
    capability: 'openai/all',
    path: '/v1/*',
    auth: { form: 'bearer', value: KEY },
  } as const;
  const { ask, origin, used } = await twoProviders(own);
  expect(await ask(`${origin}/v1/models`)).toEqual({ status: 200, said: '[true,false]' });
  expect(await ask(`${origin}/v1/files`)).toEqual({ status: 200, said: '[true,false]' });
  expect(used()).toEqual(['openai/models.list', 'openai/all']);
});
