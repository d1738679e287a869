import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Brief } from '../../src/broker/index.ts';
import {
  briefOf,
  brokered,
  customOf,
  endpointOf,
  hashOf,
  inside,
  KEY,
  newToken,
  type Opened,
  OTHER_KEY,
  openBroker,
  pinsTo,
} from '../support/broker.ts';
import { BUBBLEWRAPS, DOCKER, type Subject } from '../support/drivers.ts';
import { type Raw, requestOf, sayRaw, statusOf } from '../support/raw-requests.ts';
import { errors, text } from '../support/sandbox-spec.ts';
import { tidy } from '../support/temp.ts';
import { UpstreamServer } from '../support/upstream.ts';

tidy();
const HOSTS = ['api.anthropic.com', 'api.weather.test', 'plain.test'];
const drivers = [...BUBBLEWRAPS.filter(({ name }) => /(root|user|bubblewrap|warm)$/.test(name)), DOCKER];

for (const driver of drivers)
  describe.skipIf(driver.skip !== null)(`${driver.name}: network and broker`, () => {
    const upstream = new UpstreamServer(true);
    const plain = new UpstreamServer(false);
    const opened: Opened[] = [];
    let subject: Subject;
    const token = newToken();

    beforeAll(async () => {
      subject = await driver.make();
      await upstream.start();
      await plain.start();
    });
    afterAll(async () => {
      await subject?.close();
      await upstream.close();
      await plain.close();
    });
    afterEach(async () => {
      for (const broker of opened.splice(0)) await broker.close();
      for (const server of [upstream, plain]) {
        server.requests.splice(0);
        server.answer = (_request, outgoing) => void outgoing.end('fine\n');
      }
    });

    const open = async (brief: Brief, changes: Parameters<typeof openBroker>[1] = {}) => {
      const broker = await openBroker(brief, { pins: pinsTo(upstream.port, HOSTS), ...changes });
      opened.push(broker);
      subject.give(broker.socket);
      return broker;
    };
    const granted = (changes: Partial<Brief> = {}) =>
      briefOf(token, { endpoints: [endpointOf()], customs: [customOf()], ...changes });
    const say = (broker: Opened, brief: Brief, requests: Raw[]) =>
      sayRaw(subject.sandbox, broker, brief, token, requests);
    /** The status of each request, by its name. */
    const statuses = async (broker: Opened, brief: Brief, requests: Raw[]) =>
      Object.fromEntries([...(await say(broker, brief, requests))].map(([name, answer]) => [name, statusOf(answer)]));
    const bash = async (broker: Opened, brief: Brief, script: string, held = token) =>
      inside(subject.sandbox, brokered(['bash', '-c', script], broker, brief, held, { limits: { timeMs: 20_000 } }));

    it('SK-11 nothing but the broker is reachable: no TCP, UDP, IPv6 or DNS, with or without proxy variables', async () => {
      const brief = granted();
      const outcome = await inside(
        subject.sandbox,
        brokered(
          [
            'python3',
            '-I',
            '-S',
            '-c',
            `
import socket, urllib.request
def attempt(name, act):
  try: act(); print(name, 'OPEN')
  except OSError as error: print(name, 'closed')
def udp():
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'x', ('192.0.2.1', 53)); s.recv(1)
attempt('host loopback', lambda: socket.create_connection(('127.0.0.1', ${plain.port}), 2))
attempt('tcp', lambda: socket.create_connection(('192.0.2.1', 80), 2))
attempt('ipv6', lambda: socket.create_connection(('::1', ${plain.port}), 2))
attempt('udp', udp)
attempt('dns', lambda: socket.getaddrinfo('api.anthropic.com', 443))
attempt('no proxy', lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})).open('http://127.0.0.1:${plain.port}/', timeout=2))
attempt('broker', lambda: socket.create_connection(('127.0.0.1', 3128), 2))
`,
          ],
          await open(brief),
          brief,
          token,
        ),
      );
      expect(text(outcome).trim().split('\n')).toEqual([
        'host loopback closed',
        'tcp closed',
        'ipv6 closed',
        'udp closed',
        'dns closed',
        'no proxy closed',
        'broker OPEN',
      ]);
    });

    it('SK-05 an empty grant means nothing', async () => {
      const brief = briefOf(token);
      const broker = await open(brief);
      const found = await statuses(broker, brief, [
        { name: 'plain', raw: requestOf('GET http://plain.test/ HTTP/1.1', token) },
        { name: 'secure', raw: requestOf('GET https://plain.test/ HTTP/1.1', token) },
        { name: 'tunnel', raw: requestOf('CONNECT plain.test:443 HTTP/1.1', token) },
        { name: 'api', raw: requestOf('POST /api/anthropic/v1/messages HTTP/1.1', token) },
        { name: 'secret', raw: requestOf('GET /v1/secrets/custom/weather HTTP/1.1', token) },
      ]);
      expect(found).toEqual({ plain: '403', secure: '403', tunnel: '403', api: '403', secret: '403' });
      expect(upstream.requests).toEqual([]);
      expect(broker.events.map(({ event }) => event)).toEqual(Array<string>(5).fill('denied'));
    });

    it('hosts in every odd spelling, and private or metadata addresses, even where all public ones are granted', async () => {
      const port = plain.port;
      // Some of them by name even: a grant of policy leads to public addresses only.
      const hosts = ['127.0.0.1', 'localhost', 'rebound.test', '[::1]'].map(host => `${host}:${port}`);
      const brief = granted({ public: true, hosts });
      const asked: string[] = [];
      const broker = await open(brief, {
        resolve: async host => {
          asked.push(host);
          return ['127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '10.1.2.3', 'fe80::1', 'fd00::1', '::1'];
        },
      });
      const spellings = [
        `127.0.0.1:${port}`,
        `localhost:${port}`,
        `2130706433:${port}`,
        `0x7f.1:${port}`,
        `0177.0.0.1:${port}`,
        `127.1:${port}`,
        `[::1]:${port}`,
        `[::ffff:127.0.0.1]:${port}`,
        `[::ffff:7f00:1]:${port}`,
        `[::127.0.0.1]:${port}`,
        `[64:ff9b::7f00:1]:${port}`,
        `[fe80::1%25lo]:${port}`,
        '169.254.169.254',
        '[fd00:ec2::254]',
        `rebound.test:${port}`,
        `rebound.test.:${port}`,
        `x@127.0.0.1:${port}`,
        `plain.test:443@127.0.0.1:${port}`,
        `127.0.0.1:${port}\\@plain.test`,
        `127.0.0.1%00.plain.test:${port}`,
        `127.0.0.1\0.plain.test:${port}`,
        `plain\u00df.test`,
        `xn--.test:${port}x`,
        `127.0.0.1:${port}#.plain.test`,
        '127.0.0.1:0',
        '127.0.0.1:99999',
        `127.0.0.1:+${port}`,
        '',
      ];
      const found = await statuses(
        broker,
        brief,
        spellings.flatMap(host => [
          { name: `http ${host}`, raw: requestOf(`GET http://${host}/ HTTP/1.1`, token) },
          { name: `connect ${host}`, raw: requestOf(`CONNECT ${host} HTTP/1.1`, token), seconds: 1 },
        ]),
      );
      // A tunnel to a public-looking name is opened before DNS is asked; what is inside then fails. See the next line.
      const open200 = Object.entries(found).filter(([, status]) => status === '200');
      for (const [name, status] of Object.entries(found)) {
        if (name.startsWith('http')) expect([name, ['400', '403', '502'].includes(status)]).toEqual([name, true]);
      }
      expect(open200.map(([name]) => name)).toEqual([`connect localhost:${port}`, `connect rebound.test:${port}`]);
      expect(plain.requests).toEqual([]);
      expect(asked.every(host => !/[^a-z0-9.-]/.test(host))).toBe(true);
    });

    it('inside a tunnel: a private address, another Host, another name in the handshake, an absolute URL', async () => {
      const brief = granted({ public: true, hosts: [`inner.test:${plain.port}`] });
      const broker = await open(brief, { resolve: async () => ['127.0.0.1'] });
      const tunnel = (host: string) => requestOf(`CONNECT ${host} HTTP/1.1`, token);
      const get = (host: string, path = '/') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const found = await statuses(broker, brief, [
        { name: 'private', tunnel: tunnel(`inner.test:${plain.port}`), raw: get(`inner.test:${plain.port}`) },
        { name: 'private tls', tunnel: tunnel('inner.test:443'), sni: 'inner.test', raw: get('inner.test') },
        { name: 'other host', tunnel: tunnel('plain.test:443'), sni: 'plain.test', raw: get('evil.test') },
        { name: 'no host', tunnel: tunnel('plain.test:443'), sni: 'plain.test', raw: 'GET / HTTP/1.0\r\n\r\n' },
        {
          name: 'absolute',
          tunnel: tunnel('plain.test:443'),
          sni: 'plain.test',
          raw: get('plain.test', 'https://evil.test/'),
        },
        { name: 'other name', tunnel: tunnel('plain.test:443'), sni: 'evil.test', raw: get('plain.test') },
        { name: 'tunnel in a tunnel', tunnel: tunnel('plain.test:443'), sni: 'plain.test', raw: tunnel('10.0.0.1:22') },
        { name: 'fine', tunnel: tunnel('plain.test:443'), sni: 'plain.test', raw: get('plain.test') },
      ]);
      expect(found).toMatchObject({
        private: '502',
        'private tls': '502',
        'other host': '400',
        'no host': '400',
        absolute: '400',
        'tunnel in a tunnel': '403',
        fine: '200',
      });
      expect(found['other name']).not.toBe('200');
      expect(upstream.requests.map(({ host }) => host)).toEqual(['plain.test']);
      expect(plain.requests).toEqual([]);
    });

    it('DNS rebinding: a name is resolved once, and the vetted address is dialled ever after', async () => {
      let asked = 0;
      const brief = granted({
        endpoints: [
          endpointOf({
            scheme: 'http',
            host: 'inner.test',
            port: plain.port,
            methods: ['GET'],
            path: '/ok',
            allowPrivate: true,
          }),
        ],
      });
      const broker = await open(brief, {
        resolve: async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.1', '169.254.169.254']),
      });
      // Without kept connections every request has to be dialled anew.
      plain.answer = (_request, outgoing) => void outgoing.writeHead(200, { connection: 'close' }).end('fine');
      const one = (name: string) => ({
        name,
        raw: requestOf(`GET http://inner.test:${plain.port}/ok HTTP/1.1`, token),
      });
      expect(await statuses(broker, brief, [one('1'), one('2'), one('3')])).toEqual({ 1: '200', 2: '200', 3: '200' });
      expect(asked).toBe(1);
      expect(plain.requests).toHaveLength(3);
      // The same name without the operator's word is refused, though its address is known by now.
      const named = granted({ hosts: [`inner.test:${plain.port}`] });
      const second = await open(named, { resolve: async () => ['127.0.0.1'] });
      expect(await statuses(second, named, [one('granted')])).toEqual({ granted: '502' });
    });

    it('paths that another parser could read otherwise', async () => {
      const brief = granted({
        endpoints: [endpointOf(), endpointOf({ capability: 'anthropic/files', path: '/v1/files/*', methods: ['GET'] })],
      });
      const broker = await open(brief);
      const paths = [
        '/api/anthropic/@evil.test/',
        '/api/anthropic@evil.test/v1/messages',
        '/api/anthropic//evil.test/v1/messages',
        '/api/anthropic/\\evil.test\\v1',
        '/api/anthropic/v1/../v1/messages',
        '/api/anthropic/v1/./messages',
        '/api/anthropic/%2e%2e/v1/messages',
        '/api/anthropic/v1/%2E%2E/v1/messages',
        '/api/anthropic/v1%2fmessages',
        '/api/anthropic/v1/%6dessages',
        '/api/anthropic/v1/messages%00',
        '/api/anthropic/v1/messages%0d%0aX: y',
        '/api/anthropic/v1/messages/',
        '/api/anthropic/v1/messages;x=1',
        '/api/anthropic/v1/MESSAGES',
        '/api/anthropic/v1/messages/batches',
        '/api/anthropic/v1/files/..',
        '/api/anthropic/v1/files/..;',
        '/api/anthropic/v1/files/%252e%252e',
        '/api/anthropic/v1/files/a%5c..%5cb',
        '/api/anthropic/v1/files/',
        '/api/anthropic/v1/files/a/b',
        '/api/anthropic/v1/complete',
        '/api/anthropic/',
        '/api/anthropic',
        '/api/../v1/secrets/list',
        '/api/anthropic/https://evil.test/',
        '/v1/proxy/anthropic/v1/../../secrets',
        '/api/openai/v1/chat/completions',
        '/api/__proto__/x',
      ];
      const methods = ['POST', 'GET'];
      const found = await statuses(
        broker,
        brief,
        paths.flatMap(path =>
          methods.map(method => ({ name: `${method} ${path}`, raw: requestOf(`${method} ${path} HTTP/1.1`, token) })),
        ),
      );
      for (const [name, status] of Object.entries(found))
        expect([name, /^40[034]$/.test(status)]).toEqual([name, true]);
      expect(upstream.requests).toEqual([]);
    });

    it('methods outside the grant, TRACE, and upgrades', async () => {
      const brief = granted({ hosts: ['plain.test'] });
      const broker = await open(brief);
      const line = (method: string, url: string) => requestOf(`${method} ${url} HTTP/1.1`, token);
      const upgrade = [
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Key: x',
        'Sec-WebSocket-Version: 13',
      ];
      const found = await statuses(broker, brief, [
        { name: 'get', raw: line('GET', '/api/anthropic/v1/messages') },
        { name: 'delete', raw: line('DELETE', '/api/anthropic/v1/messages') },
        { name: 'trace', raw: line('TRACE', 'https://plain.test/') },
        { name: 'lower', raw: line('post', '/api/anthropic/v1/messages') },
        {
          name: 'override',
          raw: requestOf('GET /api/anthropic/v1/messages HTTP/1.1', token, ['X-HTTP-Method-Override: POST']),
        },
        {
          name: 'upgrade',
          raw: requestOf('GET https://plain.test/ws HTTP/1.1', token).replace(
            'Connection: close',
            upgrade.join('\r\n'),
          ),
        },
        { name: 'h2c', raw: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
        { name: 'socks', raw: '\x05\x01\x00' },
      ]);
      expect(found).toMatchObject({ get: '403', delete: '403', trace: '403', override: '403', upgrade: '403' });
      expect(['400', '403']).toContain(found.lower);
      expect(['200']).not.toContain(found.h2c);
      expect(found.socks).not.toBe('200');
      expect(upstream.requests).toEqual([]);
    });

    it('SK-07 the injected header wins: caller credentials, hop-by-hop tricks and overrides do not arrive', async () => {
      const brief = granted();
      const broker = await open(brief);
      const headers = [
        'x-api-key: mine',
        'X-API-Key: mine-too',
        'Authorization: Bearer mine',
        'Cookie: session=mine',
        'Connection: x-api-key, close',
        'Proxy-Connection: keep-alive',
        'Keep-Alive: 300',
        'TE: trailers',
        'Trailer: X-Late',
        'X-Original-URL: /v1/admin',
        'X-Forwarded-Host: evil.test',
        'X-HTTP-Method-Override: DELETE',
        'Range: bytes=0-3',
        'Accept-Encoding: gzip, br',
        'Content-Length: 2',
      ];
      const found = await say(broker, brief, [
        {
          name: 'x',
          raw: requestOf('POST /api/anthropic/v1/messages HTTP/1.1', token, headers, '{}').replace(
            'Connection: close\r\n',
            '',
          ),
        },
      ]);
      expect(statusOf(found.get('x'))).toBe('200');
      const names = upstream.last.rawHeaders.filter((_word, index) => index % 2 === 0).map(name => name.toLowerCase());
      expect(names.sort()).toEqual(['accept-encoding', 'connection', 'content-length', 'host', 'x-api-key']);
      expect(upstream.last.headers).toMatchObject({
        'x-api-key': KEY,
        host: 'api.anthropic.com',
        'accept-encoding': 'identity',
      });
      expect(JSON.stringify(upstream.last)).not.toContain(token);
    });

    it('request smuggling: two lengths, folded and split lines, bytes after the body', async () => {
      const brief = granted();
      const broker = await open(brief);
      const head = ['POST /api/anthropic/v1/messages HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`];
      const raw = (...lines: string[]) => [...head, ...lines].join('\r\n');
      const hidden = 'GET /v1/admin HTTP/1.1\r\nHost: api.anthropic.com\r\n\r\n';
      const answers = await say(broker, brief, [
        {
          name: 'cl+te',
          raw: raw('Content-Length: 5', 'Transfer-Encoding: chunked', '', `0\r\n\r\n${hidden}`),
          seconds: 2,
        },
        {
          name: 'te+cl',
          raw: raw('Transfer-Encoding: chunked', 'Content-Length: 5', '', `0\r\n\r\n${hidden}`),
          seconds: 2,
        },
        { name: 'two cl', raw: raw('Content-Length: 2', 'Content-Length: 50', '', `{}${hidden}`), seconds: 2 },
        {
          name: 'te identity',
          raw: raw('Transfer-Encoding: identity', 'Content-Length: 2', '', `{}${hidden}`),
          seconds: 2,
        },
        { name: 'te x', raw: raw('Transfer-Encoding: xchunked', '', `0\r\n\r\n${hidden}`), seconds: 2 },
        { name: 'te space', raw: raw('Transfer-Encoding : chunked', '', `0\r\n\r\n${hidden}`), seconds: 2 },
        { name: 'fold', raw: raw('X: a', ' b: c', 'Content-Length: 2', '', '{}'), seconds: 2 },
        { name: 'bare lf', raw: raw('X: a\nX-Api-Key: mine', 'Content-Length: 2', '', '{}'), seconds: 2 },
        { name: 'bare cr', raw: raw('X: a\rX-Api-Key: mine', 'Content-Length: 2', '', '{}'), seconds: 2 },
        { name: 'nul', raw: raw('X: a\0b', 'Content-Length: 2', '', '{}'), seconds: 2 },
        { name: 'huge head', raw: raw(`X: ${'a'.repeat(200_000)}`, '', ''), seconds: 2 },
        { name: 'many heads', raw: raw(...Array.from({ length: 20_000 }, (_, i) => `X${i}: a`), '', ''), seconds: 2 },
        { name: 'pipelined', raw: raw('Content-Length: 2', '', `{}${hidden}`), seconds: 2 },
      ]);
      for (const name of ['cl+te', 'te+cl', 'two cl', 'te x', 'te space', 'bare cr', 'nul', 'huge head', 'many heads'])
        expect([name, statusOf(answers.get(name))]).not.toEqual([name, '200']);
      // What follows a whole request is a request of its own, judged like any other: without a token it gets nowhere.
      expect(answers.get('pipelined')).toMatch(/^HTTP\/1\.1 200[\s\S]*HTTP\/1\.1 401/);
      expect(upstream.requests.filter(({ url }) => url !== '/v1/messages')).toEqual([]);
      for (const { headers } of upstream.requests) expect(headers['x-api-key']).toBe(KEY);
    });

    it('SK-05 tokens: missing, altered, of another run, expired, used to mint or to widen', async () => {
      const brief = granted();
      const broker = await open(brief);
      const other = newToken();
      const altered = token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A');
      const post = '/api/anthropic/v1/messages';
      const found = await statuses(broker, brief, [
        { name: 'none', raw: requestOf(`POST ${post} HTTP/1.1`, null) },
        { name: 'altered', raw: requestOf(`POST ${post} HTTP/1.1`, altered) },
        { name: 'longer', raw: requestOf(`POST ${post} HTTP/1.1`, `${token}x`) },
        { name: 'hash', raw: requestOf(`POST ${post} HTTP/1.1`, hashOf(token)) },
        { name: 'other run', raw: requestOf(`POST ${post} HTTP/1.1`, other) },
        { name: 'empty', raw: requestOf(`POST ${post} HTTP/1.1`, null, ['Authorization: Bearer ']) },
        { name: 'connect', raw: requestOf('CONNECT api.anthropic.com:443 HTTP/1.1', altered) },
        { name: 'connect none', raw: requestOf('CONNECT api.anthropic.com:443 HTTP/1.1', null) },
        {
          name: 'mint',
          raw: requestOf(
            'POST /v1/tokens/scoped HTTP/1.1',
            token,
            ['Content-Length: 37'],
            '{"capabilities":["anthropic/*"],"x":1}',
          ),
        },
        { name: 'wider', raw: requestOf('POST /api/anthropic/v1/messages/batches HTTP/1.1', token) },
        { name: 'list none', raw: requestOf('GET /v1/secrets/list HTTP/1.1', null) },
        { name: 'right', raw: requestOf(`POST ${post} HTTP/1.1`, token) },
      ]);
      expect(found).toEqual({
        none: '401',
        altered: '401',
        longer: '401',
        hash: '401',
        'other run': '401',
        empty: '401',
        connect: '407',
        'connect none': '407',
        mint: '403',
        wider: '403',
        'list none': '401',
        right: '200',
      });
      const expired = granted({ expiresAt: Date.now() - 1 });
      const late = await open(expired);
      expect(
        await statuses(late, expired, [{ name: 'expired', raw: requestOf(`POST ${post} HTTP/1.1`, token) }]),
      ).toEqual({ expired: '401' });
      expect(upstream.requests).toHaveLength(1);
    });

    it('SK-05 a token is dead with its run, and useless on the socket of another', async () => {
      const first = granted();
      const broker = await open(first);
      expect(text(await bash(broker, first, 'seksh get custom/weather'))).toBe('skp_0123456789abcdef');
      await opened.pop()?.close();
      const second = briefOf(newToken(), { customs: [customOf({ key: 'b', value: OTHER_KEY })] });
      const next = await open(second);
      // The run of `second` has somehow got the token of `first`.
      const outcome = await bash(
        next,
        second,
        'seksh list; echo $?; seksh get custom/b; echo $?; curl -s -o /dev/null -w "%{http_code}\\n" https://api.weather.test/',
        token,
      );
      expect(text(outcome).trim().split('\n')).toEqual(['3', '3', '000']);
      expect(upstream.requests).toEqual([]);
    });

    it('SK-10 skill A does not get what skill B was granted; two runs at once keep their secrets apart', async () => {
      const [a, b] = [newToken(), newToken()];
      const briefs = [
        briefOf(a, { customs: [customOf({ key: 'a', value: KEY, placeholder: 'skp_aaaaaaaa' })] }),
        briefOf(b, { customs: [customOf({ key: 'b', value: OTHER_KEY, placeholder: 'skp_bbbbbbbb' })] }),
      ] as const;
      const brokers = [await open(briefs[0]), await open(briefs[1])] as const;
      const script = `
        seksh get custom/a; echo " $?"; seksh get custom/b; echo " $?"
        for i in 1 2 3 4 5; do curl -sS "https://api.weather.test/?who=$SEKS_SKILL_NAME&a=skp_aaaaaaaa&b=skp_bbbbbbbb"; done`;
      const [first, second] = await Promise.all([
        bash(brokers[0], briefs[0], script, a),
        bash(brokers[1], briefs[1], script, b),
      ]);
      expect(text(first).split('\n').slice(0, 2)).toEqual(['skp_aaaaaaaa 0', ' 3']);
      expect(text(second).split('\n').slice(0, 2)).toEqual([' 3', 'skp_bbbbbbbb 0']);
      const seen = upstream.requests.map(({ url }) => url.replace(/^.*?&/, ''));
      expect(seen.filter(url => url === `a=${encodeURIComponent(KEY)}&b=skp_bbbbbbbb`)).toHaveLength(5);
      expect(seen.filter(url => url === `a=skp_aaaaaaaa&b=${encodeURIComponent(OTHER_KEY)}`)).toHaveLength(5);
      expect(seen).toHaveLength(10);
    });

    it('redirects: the broker follows none, and the next request is judged anew', async () => {
      const brief = granted();
      const broker = await open(brief);
      const places = [
        'https://evil.test/',
        `http://127.0.0.1:${plain.port}/`,
        'http://10.1.2.3/',
        'http://169.254.169.254/latest/',
        '/v1/admin',
        '//evil.test/',
      ];
      upstream.answer = (_request, outgoing) =>
        void outgoing.writeHead(307, { location: places[upstream.requests.length - 1] ?? '' }).end();
      const outcome = await bash(
        broker,
        brief,
        `for i in 1 2 3 4 5 6; do curl -sL -o /dev/null -w '%{http_code}\\n' -d '{}' https://api.anthropic.com/v1/messages; done`,
      );
      // 000: no tunnel was opened. 307: its own loopback, where nobody is. 403: refused, by the proxy or inside the tunnel.
      expect(text(outcome).trim().split('\n')).toEqual(['000', '307', '403', '403', '403', '000']);
      expect(upstream.requests.map(({ url }) => url)).toEqual(Array<string>(6).fill('/v1/messages'));
      expect(plain.requests).toEqual([]);
    });

    it('an upstream that echoes the key, in every spelling, split over chunks, in headers', async () => {
      const brief = granted({ endpoints: [endpointOf({ methods: ['GET', 'POST'] })] });
      const broker = await open(brief);
      const bytes = Buffer.from(KEY);
      const spellings: Record<string, string> = {
        literal: KEY,
        json: JSON.stringify(KEY),
        slashes: JSON.stringify(KEY).replaceAll('/', '\\/'),
        url: encodeURIComponent(KEY),
        lower: encodeURIComponent(KEY).toLowerCase().replace('key', 'Key').replace('xyz', 'XYZ'),
        form: new URLSearchParams({ k: KEY }).toString(),
        hex: bytes.toString('hex'),
        HEX: bytes.toString('hex').toUpperCase(),
        base64: bytes.toString('base64'),
        base64url: bytes.toString('base64url'),
        off1: Buffer.from(`x${KEY}y`).toString('base64'),
        off2: Buffer.from(`xx${KEY}yy`).toString('base64url'),
      };
      upstream.answer = async (_request, outgoing) => {
        outgoing.writeHead(200, { 'x-echo': KEY, 'x-base64': bytes.toString('base64'), 'content-type': 'text/plain' });
        for (const [name, value] of Object.entries(spellings)) {
          outgoing.write(`${name}: `);
          for (const character of value) {
            outgoing.write(character);
            await new Promise(resolve => setImmediate(resolve));
          }
          outgoing.write('\n');
        }
        outgoing.end();
      };
      const outcome = await bash(broker, brief, 'curl -sS -i https://api.anthropic.com/v1/messages');
      const seen = text(outcome);
      expect(errors(outcome)).toBe('');
      for (const [name, value] of Object.entries(spellings)) {
        const line = new RegExp(`^${name}: (.*)$`, 'm').exec(seen)?.[1] ?? '';
        expect([name, line.length]).toEqual([name, value.length]);
        expect([name, line.replaceAll('*', '').length <= (/^(?:off|form)/.test(name) ? 6 : 4)]).toEqual([name, true]);
      }
      expect(seen).toMatch(/^x-echo: \*+\r$/m);
      expect(seen).not.toContain('Key+0123');
    });

    it('bodies: ten gigabytes announced, endless chunks, a slow one, and answers without end or compressed', async () => {
      const brief = granted({
        endpoints: [endpointOf({ methods: ['GET', 'POST'] })],
        limits: { requestBytes: 64 * 1024, responseBytes: 256 * 1024, timeMs: 1500, concurrent: 4 },
      });
      const broker = await open(brief);
      const line = 'POST /api/anthropic/v1/messages HTTP/1.1';
      const get = requestOf('GET /api/anthropic/v1/messages HTTP/1.1', token);
      const found = await say(broker, brief, [
        {
          name: 'announced',
          raw: requestOf(line, token, ['Content-Length: 10737418240'], 'x'.repeat(1000)),
          repeat: 1,
        },
        {
          name: 'chunks',
          raw: requestOf(
            line,
            token,
            ['Transfer-Encoding: chunked'],
            `10000\r\n${'x'.repeat(65536)}\r\n10000\r\n${'x'.repeat(65536)}\r\n`,
          ),
        },
        { name: 'slow', raw: requestOf(line, token, ['Content-Length: 100'], 'x'), seconds: 6 },
        { name: 'slow head', raw: 'POST / HTTP/1.1\r\nX: ', seconds: 1 },
      ]);
      // Who says more than is read, on a connection that is to be closed, may find it closed before the answer is read.
      for (const name of ['announced', 'chunks'])
        expect(['413', '<ConnectionResetError>']).toContain(statusOf(found.get(name)));
      expect(['408', '504']).toContain(statusOf(found.get('slow')));
      expect(upstream.requests).toEqual([]);

      upstream.answer = (_request, outgoing) => {
        const more = () => void (outgoing.destroyed || outgoing.write(Buffer.alloc(65536), more));
        more();
      };
      const endless = await bash(broker, brief, 'curl -s https://api.anthropic.com/v1/messages | wc -c');
      expect(Number(text(endless))).toBeLessThanOrEqual(256 * 1024 + 65536);
      upstream.answer = (_request, outgoing) =>
        void outgoing.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64 * 1024 ** 2)));
      expect(await statuses(broker, brief, [{ name: 'bomb', raw: get }])).toEqual({ bomb: '502' });
      upstream.answer = () => undefined;
      expect(await statuses(broker, brief, [{ name: 'silent', raw: get, seconds: 6 }])).toEqual({ silent: '504' });
    });

    it('limits of a capability hold for the run: requests, bytes, tokens, and how many at once', async () => {
      const limited = (limits: Partial<Brief['endpoints'][number]['limits']>) =>
        granted({ endpoints: [endpointOf({ limits: { requests: null, bytes: null, tokens: null, ...limits } })] });
      upstream.answer = (_request, outgoing) =>
        void outgoing
          .setHeader('content-type', 'application/json')
          .end('{"usage":{"input_tokens":60,"output_tokens":40}}');
      const ask = (name: string) => ({
        name,
        raw: requestOf('POST /api/anthropic/v1/messages HTTP/1.1', token, ['Content-Length: 2'], '{}'),
      });
      const three = [ask('1'), ask('2'), ask('3')];
      for (const limits of [{ requests: 2 }, { bytes: 110 }, { tokens: 150 }]) {
        const brief = limited(limits);
        expect(await statuses(await open(brief), brief, three)).toEqual({ 1: '200', 2: '200', 3: '429' });
      }
      const brief = { ...granted(), limits: { ...granted().limits, concurrent: 2, timeMs: 4000 } };
      upstream.answer = (_request, outgoing) => void setTimeout(() => outgoing.end('late'), 1500);
      const many = await bash(
        await open(brief),
        brief,
        `for i in 1 2 3; do curl -s -o /dev/null -w '%{http_code}\\n' -d '{}' https://api.anthropic.com/v1/messages & done; wait`,
      );
      expect(text(many).trim().split('\n').sort()).toEqual(['200', '200', '429']);
    });

    it('what is carried out through an allowed capability is counted', async () => {
      const brief = granted();
      const broker = await open(brief);
      await bash(
        broker,
        brief,
        `head -c 5000 /dev/zero | tr '\\0' x | curl -sS -d @- https://api.anthropic.com/v1/messages`,
      );
      expect(broker.events).toEqual([
        {
          event: 'used',
          capability: 'anthropic/messages.create',
          method: 'POST',
          host: 'api.anthropic.com',
          path: '/v1/messages',
          status: 200,
          sent: 5000,
          received: 5,
          tokens: null,
          durationMs: expect.any(Number) as number,
        },
      ]);
    });

    it('SK-16 refusals without number do not flood the journal', async () => {
      const brief = granted();
      const broker = await open(brief);
      const line = `GET /v1/secrets/custom/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
      const one = { name: 'many', raw: line.repeat(100), repeat: 15, seconds: 3 };
      await say(broker, brief, [one, { ...one, name: 'more' }]);
      expect(broker.events.length).toBeLessThanOrEqual(1000);
    });
  });
