import { once } from 'node:events';
import { Agent, createServer as createHost, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { AuditEvent } from '../../src/audit/index.ts';
import type { Brief, Endpoint } from '../../src/broker/index.ts';
import { Teller } from '../../src/broker/teller.ts';
import { JournalQueue } from '../../src/runs/broker-events.ts';
import { briefOf, customOf, endpointOf, KEY, newToken, type Opened, openBroker, pinsTo } from '../support/broker.ts';
import { tidy } from '../support/temp.ts';

tidy();
const opened: Opened[] = [];
afterEach(async () => {
  for (const broker of opened.splice(0)) await broker.close();
});

test('a refusal costs no connection', async () => {
  const token = newToken();
  const broker = await openBroker(briefOf(token, { endpoints: [endpointOf()] }));
  opened.push(broker);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<unknown>();
  for (const [method, path] of [
    ['GET', '/api/anthropic/v1/messages'],
    ['POST', '/v1/secrets/get'],
    ['POST', '/v1/proxy/request'],
    ['GET', '/nowhere'],
  ] as const) {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request({ agent, socketPath: broker.socket, path, method, headers });
    asked.on('socket', socket => sockets.add(socket));
    asked.end(method === 'POST' ? '{}' : undefined);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    expect(answer.statusCode, path).toBeGreaterThanOrEqual(400);
    await text(answer);
  }
  expect(sockets.size).toBe(1);
  agent.destroy();
});

test('a request that changes nothing is said again when the host closed a kept connection meanwhile', async () => {
  let connections = 0;
  // Answers once on each connection, says that it keeps it, and closes it at the next word.
  const host = createServer(socket => {
    connections++;
    let answered = false;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      if (answered) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine');
      answered = true;
    });
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  const { port } = host.address() as AddressInfo;
  const token = newToken();
  const endpoint = endpointOf({
    scheme: 'http',
    host: '127.0.0.1',
    port,
    methods: ['GET', 'POST'],
    allowPrivate: true,
  });
  const broker = await openBroker(briefOf(token, { endpoints: [endpoint] }));
  opened.push(broker);
  const agent = new Agent({ keepAlive: true });
  const ask = async (method: string) => {
    const asked = request({
      agent,
      socketPath: broker.socket,
      path: '/api/anthropic/v1/messages',
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return [answer.statusCode, await text(answer)];
  };
  expect(await ask('GET')).toEqual([200, 'fine']);
  expect(await ask('GET')).toEqual([200, 'fine']);
  // Nobody knows whether the host has acted on it: that is for the client to decide.
  expect((await ask('POST'))[0]).toBe(502);
  expect(connections).toBe(2);
  agent.destroy();
  host.close();
});

test('of an answer that the run does not read the host keeps most, and all of it comes when it is read', async () => {
  const whole = 48 * 1024 ** 2;
  let given = 0;
  const host = createHost((_request, response) => {
    response.writeHead(200, { 'content-length': whole });
    const more = () => {
      while (given < whole && !response.destroyed) {
        given += 64 * 1024;
        if (!response.write(Buffer.alloc(64 * 1024, 'x'))) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  const { port } = host.address() as AddressInfo;
  const token = newToken();
  const endpoint = endpointOf({ scheme: 'http', host: '127.0.0.1', port, methods: ['GET'], allowPrivate: true });
  const limits = { requestBytes: 1024, responseBytes: whole, timeMs: 20_000, concurrent: 1 };
  const broker = await openBroker(briefOf(token, { endpoints: [endpoint], limits }));
  opened.push(broker);
  const asked = request({
    socketPath: broker.socket,
    path: '/api/anthropic/v1/messages',
    headers: { authorization: `Bearer ${token}` },
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let before = -1;
  while (before !== given) {
    before = given;
    await new Promise(resolve => setTimeout(resolve, 200));
  }
  // What the sockets on the way hold is the system's affair.
  expect(given).toBeLessThan(whole / 2);
  let read = 0;
  for await (const piece of answer) read += (piece as Buffer).length;
  expect(read).toBe(whole);
  host.close();
});

/** A host that says exactly this, whatever it is asked. */
async function saying(answer: string | ((socket: Socket) => void)) {
  const heard: string[] = [];
  const host = createServer(socket => {
    socket.on('error', () => undefined);
    socket.on('data', bytes => {
      heard.push(bytes.toString('latin1'));
      if (typeof answer === 'string') socket.write(answer);
    });
    if (typeof answer !== 'string') answer(socket);
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  onTestFinished(() => void host.close());
  return { port: (host.address() as AddressInfo).port, heard };
}

const endpointAt = (port: number, changes: Partial<Endpoint> = {}) =>
  endpointOf({ scheme: 'http', host: '127.0.0.1', port, methods: ['GET', 'POST'], allowPrivate: true, ...changes });

async function brokerTo(port: number, changes: Partial<Endpoint> = {}, more: Partial<Brief> = {}) {
  const token = newToken();
  const broker = await openBroker(briefOf(token, { endpoints: [endpointAt(port, changes)], ...more }));
  opened.push(broker);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (method = 'GET', body: string | Buffer = '', look = (_answer: IncomingMessage) => {}) => {
    const asked = request({
      agent,
      socketPath: broker.socket,
      path: '/api/anthropic/v1/messages',
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    asked.on('error', () => undefined);
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    look(answer);
    return [answer.statusCode, await text(answer)];
  };
}

test.each(['evil\r\nx-more: 1', 'evil\nx-more: 1', 'nul\0nul', 'more than latin \u20ac'])(
  'a key that cannot stand in a header (%j) reaches no host',
  async value => {
    const { port, heard } = await saying('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    const ask = await brokerTo(port, { auth: { form: 'header', name: 'x-api-key', value } });
    const [status, said] = await ask();
    expect([status, heard]).toEqual([403, []]);
    expect(said).toContain('cannot stand in a header');
    expect(said).not.toContain('evil');
  },
);

test.each([
  ['compresses', 'content-encoding: gzip'],
  ['compresses, and says first that it does not', 'content-encoding: identity\r\ncontent-encoding: gzip'],
  ['says its length twice', 'content-length: 4\r\ncontent-length: 9'],
  ['says a length and that it has none', 'transfer-encoding: chunked\r\ncontent-length: 4'],
])('an answer of a host that %s is not passed on', async (_what, lines) => {
  const { port } = await saying(`HTTP/1.1 200 OK\r\n${lines}\r\nconnection: close\r\n\r\nbody`);
  const [status, said] = await (await brokerTo(port))();
  expect([status, String(said).includes('body')]).toEqual([502, false]);
});

test('a key that the host says in a header does not come back either', async () => {
  const { port } = await saying(`HTTP/1.1 200 OK\r\nx-a: b\r\nx-echo: <${KEY}>\r\ncontent-length: 4\r\n\r\nfine`);
  const headers: IncomingMessage['headers'][] = [];
  expect(await (await brokerTo(port))('GET', '', answer => headers.push(answer.headers))).toEqual([200, 'fine']);
  expect(headers).toMatchObject([{ 'x-a': 'b', 'x-echo': `<${'*'.repeat(KEY.length)}>` }]);
});

test('nor one that it kept, and says to a later request that has no key', async () => {
  let kept = '';
  const { port, heard } = await saying(socket => {
    socket.on('data', bytes => {
      kept += /x-(?:api-key|hook): (.*)\r\n/.exec(bytes.toString('latin1'))?.[1] ?? '';
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${kept.length}\r\n\r\n${kept}`);
    });
  });
  const [host, token] = ['kept.test', newToken()];
  const hook = customOf({ key: 'hook', value: 'the-secret-of-a-hook', hosts: [`http://${host}:8080`] });
  const endpoint = endpointOf({ scheme: 'http', host, port: 80, allowPrivate: true });
  const brief = briefOf(token, { endpoints: [endpoint], customs: [hook], hosts: [`http://${host}`] });
  const broker = await openBroker(brief, { pins: [...pinsTo(port, [host], 80), ...pinsTo(port, [host], 8080)] });
  opened.push(broker);
  const ask = async (line: string, more = '') => {
    const client = connect(broker.socket).on('error', () => undefined);
    onTestFinished(() => void client.destroy());
    client.write(
      `${line} HTTP/1.1\r\nhost: x\r\nproxy-authorization: Bearer ${token}\r\n${more}connection: close\r\n\r\n`,
    );
    return text(client);
  };
  await ask(`POST http://${host}/v1/messages`, 'content-length: 0\r\n');
  await ask(`GET http://${host}:8080/hook`, `x-hook: ${hook.placeholder}\r\n`);
  expect(kept).toBe(`${KEY}${hook.value}`);
  for (const url of [`http://${host}/kept`, `http://${host}:8080/kept`]) {
    expect((await ask(`GET ${url}`, 'accept-encoding: gzip\r\n')).split('\r\n\r\n')[1]).toBe('*'.repeat(kept.length));
    expect(heard.at(-1)).toContain('accept-encoding: identity');
  }
});

test('nor one that it says in the name of a header', async () => {
  const value = 'sk-key.0123456789_abcdef';
  const { port } = await saying(`HTTP/1.1 200 OK\r\nx-${value}: yes\r\ncontent-length: 4\r\n\r\nfine`);
  const ask = await brokerTo(port, { auth: { form: 'bearer', value } });
  const headers: IncomingMessage['headers'][] = [];
  expect(await ask('GET', '', answer => headers.push(answer.headers))).toEqual([200, 'fine']);
  expect(headers).toMatchObject([{ [`x-${'*'.repeat(value.length)}`]: 'yes' }]);
});

test('nor one with letters beyond ASCII, which a header carries as one byte each', async () => {
  const value = 'sehr-geheimer-schl\u00fcssel-\u00e4\u00f6';
  const bytes = Buffer.from(value, 'latin1');
  const small = value.replace(/[^\w-]/g, one => `%${one.charCodeAt(0).toString(16)}`);
  const large = value.replace(/[^\w-]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const said = [value, bytes.toString('base64'), bytes.toString('hex'), small, large].join(' ');
  const whole = Buffer.from(
    `HTTP/1.1 200 OK\r\nx-echo: ${value}\r\ncontent-length: ${said.length}\r\n\r\n${said}`,
    'latin1',
  );
  const { port } = await saying(socket => void socket.once('data', () => socket.write(whole)));
  const ask = await brokerTo(port, { auth: { form: 'bearer', value } });
  const headers: IncomingMessage['headers'][] = [];
  const [, body] = await ask('GET', '', answer => headers.push(answer.headers));
  expect(headers).toMatchObject([{ 'x-echo': '*'.repeat(value.length) }]);
  // The last bits of base64 are not the value's alone.
  expect(String(body)).toMatch(/^[* ]+[\w=]{0,3}[* ]+$/);
});

test.each([
  ['Latin-1', Buffer.from('\u00e4', 'latin1')],
  ['UTF-8', Buffer.from('\u00e4')],
])('the name of a file in %s passes as the host says it, and ends no broker', async (_what, letter) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-disposition: attachment; filename="';
  const { port } = await saying(socket => {
    socket.once('data', () => {
      socket.write(Buffer.concat([Buffer.from(head), letter, Buffer.from('.pdf"\r\n\r\nfi')]));
      setTimeout(() => socket.write('ne'), 50);
    });
  });
  const headers: IncomingMessage['headers'][] = [];
  expect(await (await brokerTo(port))('GET', '', answer => headers.push(answer.headers))).toEqual([200, 'fine']);
  expect(headers).toMatchObject([{ 'content-disposition': `attachment; filename="${letter.toString('latin1')}.pdf"` }]);
});

const LARGE = 'x'.repeat(2000);
const ANSWERS = [
  ['announced', `content-length: ${LARGE.length}\r\n\r\n`],
  ['announced and in one packet', `content-length: ${LARGE.length}\r\n\r\n${LARGE}`],
  ['in chunks', `transfer-encoding: chunked\r\n\r\n7d0\r\n${LARGE}\r\n0\r\n\r\n`],
  ['in chunks, and not at its end', `transfer-encoding: chunked\r\n\r\n7d0\r\n${LARGE}\r\n`],
] as const;

test.each(ANSWERS)(
  'an answer over the limit, %s, of which the run has nothing yet, is a fault and no 200',
  async (_how, said) => {
    const { port } = await saying(`HTTP/1.1 200 OK\r\n${said}`);
    const limits = { requestBytes: 1024, responseBytes: 1024, timeMs: 20_000, concurrent: 4 };
    const ask = await brokerTo(port, {}, { limits });
    const [status, text] = await ask();
    expect(status).toBe(413);
    const reason = 'an answer of at most 1024 bytes is passed on';
    expect(JSON.parse(String(text))).toMatchObject({ error: { code: 'too_large', message: `skillbox: ${reason}` } });
    // The person sees why, and the journal that the host was asked.
    await expect
      .poll(() => opened.at(-1)?.events)
      .toMatchObject([
        { event: 'failed', reason },
        { event: 'used', status: 200 },
      ]);
  },
);

test.each(ANSWERS)(
  "an answer over the capability's bytes, %s, is a fault too, and they are used up",
  async (_how, said) => {
    const { port, heard } = await saying(`HTTP/1.1 200 OK\r\n${said}`);
    const ask = await brokerTo(port, { limits: { requests: null, bytes: 1024, tokens: null } });
    for (let time = 0; time < 2; time++) {
      const [status, text] = await ask();
      expect([status, text]).toEqual([
        429,
        expect.stringContaining('limit of 1024 bytes a run for anthropic/messages.create'),
      ]);
    }
    expect(heard).toHaveLength(1);
  },
);

test('an answer that only says how large it would be goes over no limit', async () => {
  const { port } = await saying(`HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n`);
  const limits = { requestBytes: 1024, responseBytes: 1024, timeMs: 20_000, concurrent: 4 };
  const ask = await brokerTo(port, { methods: ['HEAD'] }, { limits });
  expect(await ask('HEAD')).toEqual([200, '']);
});

test('a run that goes away in the middle of an answer is not answered on', async () => {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const { port } = await saying(socket => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'));
    socket.once('close', () => leave());
  });
  const ask = await brokerTo(port);
  await expect(ask('GET', '', answer => answer.once('data', () => answer.destroy()))).rejects.toThrow();
  await left;
});

test('SK-16 a request that reached the host is told, also when the run leaves before the answer or the host says nothing', async () => {
  const { port, heard } = await saying(socket => {
    socket.on('data', bytes => void (bytes.includes('hang up') && socket.destroy()));
  });
  const { broker, head, client } = await rawTo(port);
  const left = client();
  left.write(`${head('POST', 'content-length: 6\r\n')}stolen`);
  await expect.poll(() => heard.join('')).toContain('stolen');
  left.destroy();
  const used = { event: 'used', capability: 'anthropic/messages.create', method: 'POST', path: '/v1/messages' };
  await expect.poll(() => broker.events).toMatchObject([{ ...used, status: null, sent: 6, received: 0 }]);
  client().write(`${head('POST', 'content-length: 7\r\n')}hang up`);
  await expect
    .poll(() => broker.events.slice(1))
    .toMatchObject([{ event: 'failed' }, { ...used, status: null, sent: 7, received: 0 }]);
});

test('a host that hangs up on a new connection is not asked again', async () => {
  const { port, heard } = await saying(socket => void socket.once('data', () => socket.destroy()));
  expect((await (await brokerTo(port))())[0]).toBe(502);
  expect(heard).toHaveLength(1);
});

test('an answer that comes before all was said is passed on, and the next request has a way', async () => {
  const { port } = await saying(socket => {
    socket.once('data', () => socket.end('HTTP/1.1 413 Too much\r\ncontent-length: 4\r\n\r\nless'));
  });
  const ask = await brokerTo(port);
  const large = Buffer.alloc(3 * 1024 ** 2, 'x');
  expect(await ask('POST', large)).toEqual([413, 'less']);
  expect(await ask('POST', 'small')).toEqual([413, 'less']);
});

/** A broker that is spoken to byte by byte. */
async function rawTo(port: number, changes: Partial<Endpoint> = {}, more: Partial<Brief> = {}) {
  const token = newToken();
  const broker = await openBroker(briefOf(token, { endpoints: [endpointAt(port, changes)], ...more }));
  opened.push(broker);
  const head = (method = 'GET', lines = '') =>
    `${method} /api/anthropic/v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n${lines}\r\n`;
  const client = () => {
    const socket = connect(broker.socket).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { broker, head, client };
}

async function heardBy(client: Socket, wanted: string): Promise<string> {
  let heard = '';
  client.on('data', bytes => {
    heard += bytes.toString('latin1');
  });
  await expect.poll(() => heard).toContain(wanted);
  return heard;
}

test('SK-05 a run that shows its token to a host in the place of a key shows it to nobody', async () => {
  const { port, heard } = await saying('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine');
  const token = newToken();
  const custom = customOf({ hosts: ['http://bound.test'] });
  const brief = briefOf(token, { hosts: ['plain.test'], customs: [custom] });
  const broker = await openBroker(brief, { pins: pinsTo(port, ['plain.test', 'bound.test'], 80) });
  opened.push(broker);
  for (const host of ['plain.test', 'bound.test']) {
    const client = connect(broker.socket).on('error', () => undefined);
    onTestFinished(() => void client.destroy());
    const basic = Buffer.from(`user:${token}`).toString('base64');
    const lines = [`proxy-authorization: Basic ${basic}`, `authorization: Bearer ${token}`, `x-api-key: ${token}`];
    client.write(`GET http://${host}/ HTTP/1.1\r\nhost: ${host}\r\nx-kept: yes\r\n${lines.join('\r\n')}\r\n\r\n`);
    await heardBy(client, 'fine');
  }
  expect(heard).toHaveLength(2);
  for (const request of heard) {
    expect(request).toContain('x-kept: yes');
    expect(request).not.toMatch(/authorization|x-api-key/i);
  }
});

test('a body that is too much in its first packet is refused, and ends nothing else', async () => {
  const { port, heard } = await saying('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const { head, client } = await rawTo(port, { limits: { requests: null, bytes: 1000, tokens: null } });
  const asking = client();
  asking.write(head('POST', 'content-length: 2000\r\n') + 'x'.repeat(2000));
  expect(await heardBy(asking, '}}')).toMatch(/^HTTP\/1.1 413 .*are used up/s);
  expect(heard).toEqual([]);
});

test('a refused request whose body breaks off while its answer waits for another ends nothing else', async () => {
  const { port } = await saying(() => undefined);
  const custom = customOf({ value: 'not latin \u20ac', hosts: [`http://127.0.0.1:${port}`] });
  const { broker, head, client } = await rawTo(port, {}, { customs: [custom] });
  const asking = client();
  const lines = `x-a: ${custom.placeholder}\r\ntransfer-encoding: chunked\r\n`;
  asking.write(`${head()}${head('POST', lines)}5\r\nhello\r\n`);
  await new Promise(resolve => setTimeout(resolve, 100));
  asking.destroy();
  await expect
    .poll(() => broker.events)
    .toMatchObject([
      { event: 'used', method: 'GET', status: null },
      { event: 'failed', reason: 'the secret cannot stand in a header' },
    ]);
});

test('an answer that waits for a slow run does not hold up the next on the same connection', async () => {
  for (const bytes of [1100, 1150, 1200, 1250, 1300].map(size => size * 1024)) {
    let asked = 0;
    const { port } = await saying(socket => {
      socket.on('data', () => {
        const body = asked++ === 0 ? Buffer.alloc(bytes, 'x') : Buffer.from('fine');
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
        socket.write(body);
      });
    });
    const { head, client } = await rawTo(port);
    const [slow, next] = [client(), client()];
    slow.pause().write(head());
    await expect.poll(() => asked).toBe(1);
    await new Promise(resolve => setTimeout(resolve, 50));
    next.write(head());
    await heardBy(next, 'fine');
  }
});

test('a run that says all before it listens comes to its end, though the host answered early and read nothing', async () => {
  const { port } = await saying(socket => {
    socket.pause();
    setTimeout(() => socket.write('HTTP/1.1 413 Too much\r\ncontent-length: 4\r\n\r\nless'), 300);
  });
  const limits = { requestBytes: 1024 ** 3, responseBytes: 1024, timeMs: 20_000, concurrent: 1 };
  const { head, client } = await rawTo(port, {}, { limits });
  const asking = client();
  const body = Buffer.alloc(32 * 1024 ** 2, 'x');
  asking.write(head('POST', `content-length: ${body.length}\r\n`));
  await new Promise(resolve => asking.write(body, resolve));
  await heardBy(asking, 'less');
});

test('connections that are still being made count as under way, though the run that asked is gone', async () => {
  let connections = 0;
  const { port } = await saying(() => void connections++);
  const limits = { requestBytes: 1024, responseBytes: 1024, timeMs: 20_000, concurrent: 4 };
  // It takes the connection, and never says a word of TLS.
  const { broker, head, client } = await rawTo(port, { scheme: 'https' }, { limits });
  for (let time = 0; time < 20; time++) {
    const asking = client();
    asking.write(head());
    await new Promise(resolve => setTimeout(resolve, 20));
    asking.destroy();
  }
  await expect.poll(() => broker.events.filter(({ event }) => event === 'denied')).toHaveLength(16);
  expect(connections).toBe(4);
});

test('what is under way when the broker ends is told there and then, each once, whoever has left before', async () => {
  const { port, heard } = await saying(() => undefined);
  const { broker, head, client } = await rawTo(port);
  const asking: Socket[] = [];
  for (const body of ['1', '22', '333', '4444']) {
    const socket = client();
    asking.push(socket);
    socket.write(`${head('POST', `content-length: ${body.length}\r\n`)}${body}`);
    await expect.poll(() => heard.join('')).toContain(body);
  }
  const sent = () => broker.events.map(event => (event.event === 'used' ? event.sent : event.event));
  // The first, and then the one that was put into its place.
  for (const [left, bytes] of [
    [0, 1],
    [3, 4],
  ] as const) {
    asking[left]?.destroy();
    await expect.poll(sent).toContain(bytes);
  }
  broker.end();
  expect(sent()).toEqual([1, 4, 2, 3]);
});

test('a refused upgrade holds no connection, whatever the run says behind it', async () => {
  const { port } = await saying('');
  const { head, client } = await rawTo(port);
  const asking = client();
  const closed = once(asking.resume(), 'close');
  asking.write(head('GET', 'connection: upgrade\r\nupgrade: websocket\r\n'));
  asking.write(Buffer.alloc(4 * 1024 ** 2));
  await closed;
});

test('what comes without a token is not told, whatever it asks for: it would leave no room for what is', async () => {
  const { port } = await saying('');
  const { broker, head, client } = await rawTo(port);
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n';
  const ask = async (lines: string) => {
    const asking = client();
    asking.write(`${lines}\r\n`);
    return (await heardBy(asking, '\r\n\r\n')).split(' ')[1];
  };
  expect(await ask('GET http://a/b\\c HTTP/1.1\r\nhost: a\r\n')).toBe('407');
  expect(await ask('GET ftp://a/ HTTP/1.1\r\nhost: a\r\n')).toBe('407');
  expect(await ask(`GET /api/anthropic/v1/messages HTTP/1.1\r\nhost: a\r\n${upgrade}`)).toBe('407');
  expect(broker.events).toEqual([]);
  expect(await ask(head('GET', upgrade).slice(0, -2))).toBe('403');
  await expect.poll(() => broker.events).toMatchObject([{ event: 'denied', reason: 'an upgrade' }]);
});

test('what is released is told before it is handed out, the rest soon', async () => {
  const written: string[] = [];
  const teller = new Teller(line => void written.push(line));
  const failed = { event: 'failed', capability: null, host: null, reason: 'x' } as const;
  teller.tell(failed);
  expect(written).toEqual([]);
  teller.tell({ event: 'released', capability: 'custom/x' });
  expect(written.join('').trim().split('\n')).toHaveLength(2);
  teller.tell(failed);
  await expect.poll(() => written.join('').trim().split('\n').length).toBe(3);
});

test('a journal that cannot be written ends the way out', async () => {
  let closed = 0;
  const event = { type: 'broker.called' } as AuditEvent;
  const journal = { append: () => Promise.reject(new Error('the disk is full')) };
  const queue = new JournalQueue(journal, () => closed++);
  queue.add(event);
  queue.add(event);
  await expect(queue.settled()).rejects.toThrow('the disk is full');
  expect(closed).toBe(1);
});
