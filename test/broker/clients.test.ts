import { execFileSync, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Brief } from '../../src/broker/index.ts';
import type { Outcome, SandboxMount } from '../../src/sandbox/index.ts';
import {
  briefOf,
  brokered,
  customOf,
  endpointOf,
  inside,
  KEY,
  newToken,
  type Opened,
  openBroker,
  pinsTo,
} from '../support/broker.ts';
import { BUBBLEWRAPS, ENGINES, type Subject } from '../support/drivers.ts';
import { skipUnless } from '../support/require.ts';
import { errors, MOUNTS, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { type Recorded, UpstreamServer } from '../support/upstream.ts';

tidy();
const HOSTS = ['api.anthropic.com', 'api.openai.com', 'api.weather.test', 'git.test', 'plain.test'];
const PLACEHOLDER = 'skp_0123456789abcdef';
const packages = join(import.meta.dirname, '../../node_modules');
const has = (path: string, name: string) => skipUnless(existsSync(path), name, `there is no ${path}`);

const ENDPOINTS = [
  endpointOf(),
  endpointOf({
    capability: 'openai/chat.completions',
    provider: 'openai',
    host: 'api.openai.com',
    path: '/v1/chat/completions',
    auth: { form: 'bearer', value: KEY },
  }),
];
const CUSTOMS = [
  customOf({ placeholder: PLACEHOLDER }),
  customOf({ key: 'git', hosts: ['git.test'], placeholder: 'skp_git_placeholder' }),
];

const [bubblewrap] = BUBBLEWRAPS;
const warm = BUBBLEWRAPS.find(({ name }) => name.includes('warm'));
const drivers = [bubblewrap, warm, ...ENGINES].flatMap(driver => (driver === undefined ? [] : [driver]));

/** Programs as they are published, in a sandbox whose only way out is the broker, against a host that writes all down. */
describe.each(drivers)('real clients in $name', driver => {
  const upstream = new UpstreamServer(true);
  let subject: Subject;
  let broker: Opened;
  let brief: Brief;
  const token = newToken();

  beforeAll(async () => {
    if (driver.skip !== null) return;
    await upstream.start();
    subject = await driver.make();
    brief = briefOf(token, { endpoints: ENDPOINTS, customs: CUSTOMS, hosts: ['plain.test'] });
    broker = await openBroker(brief, { pins: pinsTo(upstream.port, HOSTS) });
  });
  afterAll(async () => {
    if (driver.skip !== null) return;
    await broker.close();
    await upstream.close();
    await subject.close();
  });
  afterEach(() => void upstream.requests.splice(0));

  const start = (argv: string[], files: Record<string, string> = {}, mounts: SandboxMount[] = []): Promise<Outcome> => {
    const texts = Object.entries(files).map(([at, content]) => ({ kind: 'text' as const, at, text: content }));
    const limits = { memoryBytes: 512 * 1024 ** 2, timeMs: 20_000 };
    return inside(
      subject.sandbox,
      brokered(argv, broker, brief, token, { mounts: [...MOUNTS, ...texts, ...mounts], limits }),
    );
  };
  const node = (script: string) =>
    start(['node', '/app/main.mjs'], { '/app/main.mjs': script }, [
      {
        kind: 'bind',
        source: realpathSync(packages),
        at: '/app/node_modules',
        writable: false,
        exec: true,
        protect: null,
      },
    ]);
  const noSdk = driver.skip ?? (driver.hostRuntime ? null : 'the image has no node');

  test.skipIf(noSdk)('SK-09 the Anthropic SDK: key, path, and a stream that is not held back', async () => {
    upstream.answer = answerAnthropic();
    const outcome = await node(`
      import Anthropic from '@anthropic-ai/sdk';
      const client = new Anthropic({ maxRetries: 0 });
      const ask = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] };
      const parts = [];
      for await (const event of await client.messages.create({ ...ask, stream: true })) {
        parts.push(event.type);
        // The host sends the rest only after this: whoever buffers waits for ever.
        if (event.type === 'content_block_delta' && event.delta.text === 'one') {
          const whole = await client.messages.create({ ...ask, messages: [{ role: 'user', content: 'go on' }] });
          parts.push(whole.content[0].text);
        }
      }
      console.log(parts.join(' '));
    `);
    expect([text(outcome), errors(outcome)]).toEqual([
      'message_start content_block_start content_block_delta gone content_block_delta content_block_stop message_delta message_stop\n',
      '',
    ]);
    expect(upstream.requests.map(({ method, url, host }) => `${method} ${host}${url}`)).toEqual([
      'POST api.anthropic.com/v1/messages',
      'POST api.anthropic.com/v1/messages',
    ]);
    for (const request of upstream.requests) {
      expect(request.headers['x-api-key']).toBe(KEY);
      expect(request.headers.authorization).toBeUndefined();
      expect(JSON.stringify(request.rawHeaders) + request.body).not.toContain(token);
    }
    const used = broker.events.filter(event => event.event === 'used').at(-1);
    expect(used).toMatchObject({ capability: 'anthropic/messages.create', status: 200, tokens: 15 });
  });

  test.skipIf(noSdk)('SK-09 the OpenAI SDK: key, path, and a stream that is not held back', async () => {
    upstream.answer = answerOpenai();
    const outcome = await node(`
      import OpenAI from 'openai';
      const client = new OpenAI({ maxRetries: 0 });
      const ask = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
      const parts = [];
      for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
        const said = chunk.choices[0]?.delta.content ?? '-';
        parts.push(said);
        if (said === 'one') {
          const whole = await client.chat.completions.create({ ...ask, messages: [{ role: 'user', content: 'go on' }] });
          parts.push(whole.choices[0].message.content);
        }
      }
      console.log(parts.join(' '));
    `);
    expect([text(outcome), errors(outcome)]).toEqual(['one gone two -\n', '']);
    expect(upstream.requests.map(({ method, url, host }) => `${method} ${host}${url}`)).toEqual([
      'POST api.openai.com/v1/chat/completions',
      'POST api.openai.com/v1/chat/completions',
    ]);
    for (const request of upstream.requests) expect(request.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test.skipIf(noSdk)("SK-09 Node's own fetch goes by the proxy variable", async () => {
    upstream.answer = (_request, outgoing) => void outgoing.end('sunny');
    const outcome = await node(`
      const answer = await fetch('https://api.weather.test/data?appid=${PLACEHOLDER}');
      console.log(answer.status, await answer.text());
    `);
    expect([text(outcome), errors(outcome)]).toEqual(['200 sunny\n', '']);
    expect(upstream.last.url).toBe(`/data?appid=${encodeURIComponent(KEY)}`);
  });

  test.skipIf(driver.skip ?? has('/usr/bin/curl', 'curl'))(
    'SK-10 curl: a placeholder in query, header, basic and body',
    async () => {
      upstream.answer = (_request, outgoing) => void outgoing.end('fine\n');
      const outcome = await start([
        'bash',
        '-c',
        `set -e
      curl -sSf "https://api.weather.test/q?appid=${PLACEHOLDER}"
      curl -sSf -H "authorization: Bearer ${PLACEHOLDER}" https://api.weather.test/header
      curl -sSf -u "me:${PLACEHOLDER}" https://api.weather.test/basic
      curl -sSf -H 'content-type: application/json' -d '{"key":"${PLACEHOLDER}","more":1}' https://api.weather.test/json
      curl -sSf -d 'key=${PLACEHOLDER}&x=1' https://api.weather.test/form
      curl -sSf -H 'transfer-encoding: chunked' -H 'content-type: text/plain' -d 'a ${PLACEHOLDER} b' https://api.weather.test/chunked
      curl -sSf "https://plain.test/?leak=${PLACEHOLDER}"`,
      ]);
      expect([text(outcome), errors(outcome)]).toEqual(['fine\n'.repeat(7), '']);
      const [query, header, basic, json, form, chunked, plain] = upstream.requests;
      expect(query?.url).toBe(`/q?appid=${encodeURIComponent(KEY)}`);
      expect(header?.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(basic?.headers.authorization).toBe(`Basic ${Buffer.from(`me:${KEY}`).toString('base64')}`);
      expect(JSON.parse(json?.body ?? '')).toEqual({ key: KEY, more: 1 });
      expect(new URLSearchParams(form?.body).get('key')).toBe(KEY);
      expect(chunked?.body).toBe(`a ${KEY} b`);
      // To any other host the placeholder goes as it is: a word without a meaning.
      expect(plain?.url).toBe(`/?leak=${PLACEHOLDER}`);
    },
  );

  test.skipIf(driver.skip)("SK-09 Python's urllib: proxy variable, certificate, JSON back", async () => {
    upstream.answer = (request, outgoing) => void outgoing.end(JSON.stringify({ path: request.url }));
    const outcome = await start([
      'python3',
      '-I',
      '-c',
      [
        'import json, urllib.request, urllib.error',
        `print(json.load(urllib.request.urlopen('https://api.weather.test/p?appid=${PLACEHOLDER}'))['path'])`,
        'for url in ("https://evil.test/", "http://evil.test/", "http://127.0.0.1:1/"):',
        '  try: urllib.request.urlopen(url)',
        '  except Exception as error: print(error)',
      ].join('\n'),
    ]);
    const lines = text(outcome).trim().split('\n');
    // The host echoed the key: the run sees stars.
    expect(lines[0]).toBe(`/p?appid=${'*'.repeat(encodeURIComponent(KEY).length)}`);
    expect(lines.slice(1)).toEqual([
      '<urlopen error Tunnel connection failed: 403 evil.test:443 is not granted>',
      'HTTP Error 403: Forbidden',
      // Its own loopback, where nobody is.
      '<urlopen error [Errno 111] Connection refused>',
    ]);
    expect(upstream.last.url).toBe(`/p?appid=${encodeURIComponent(KEY)}`);
  });

  test.skipIf(driver.skip)(
    'SK-16 what a host says in pieces arrives in pieces, also on a connection that was used before',
    async () => {
      upstream.answer = async (_request, outgoing) => {
        for (let piece = 0; piece < 5; piece++) {
          outgoing.write(`data: ${piece}\n\n`);
          await sleep(4);
        }
        outgoing.end();
      };
      const outcome = await start([
        'python3',
        '-I',
        '-c',
        [
          'import os, socket',
          'broker = socket.create_connection(("127.0.0.1", 3128))',
          'head = "POST /api/anthropic/v1/messages HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 0\\r\\n"',
          'head += "authorization: Bearer " + os.environ["SEKS_AGENT_TOKEN"] + "\\r\\n\\r\\n"',
          'seen = []',
          'for _ in range(40):',
          '  broker.sendall(head.encode())',
          '  answer, pieces = b"", 0',
          '  while not answer.endswith(b"0\\r\\n\\r\\n"): answer, pieces = answer + broker.recv(65536), pieces + 1',
          '  seen.append(pieces)',
          'print(max(seen[20:]))',
        ].join('\n'),
      ]);
      expect(errors(outcome)).toBe('');
      // Held back until the first was acknowledged, all the others would come together, each time.
      expect(Number(text(outcome))).toBeGreaterThan(3);
    },
  );

  test.skipIf(driver.skip)(
    'a server that a skill starts is reached by it, and nothing else is behind that',
    async () => {
      const outcome = await start([
        'python3',
        '-I',
        '-c',
        [
          'import http.server, threading, urllib.request',
          'class Page(http.server.BaseHTTPRequestHandler):',
          '  def do_GET(self):',
          '    self.send_response(200); self.end_headers(); self.wfile.write(b"mine")',
          '  def log_message(self, *_): pass',
          'server = http.server.HTTPServer(("127.0.0.1", 0), Page)',
          'threading.Thread(target=server.serve_forever, daemon=True).start()',
          `for host, port in ("127.0.0.1", server.server_port), ("localhost", server.server_port), ("127.0.0.1", ${upstream.port}):`,
          '  try: print(urllib.request.urlopen(f"http://{host}:{port}/").read().decode())',
          '  except Exception as error: print(error)',
        ].join('\n'),
      ]);
      expect(text(outcome).trim().split('\n')).toEqual([
        'mine',
        'mine',
        '<urlopen error [Errno 111] Connection refused>',
      ]);
    },
  );

  test.skipIf(noSdk ?? has('/usr/bin/git', 'git'))(
    'SK-10 git over HTTPS: a private clone with a bound secret',
    async () => {
      upstream.answer = answerGit(makeRepository());
      const outcome = await start([
        'bash',
        '-c',
        'cd /tmp && git clone -q https://me:skp_git_placeholder@git.test/repo.git && cat repo/hello.txt',
      ]);
      expect([text(outcome), errors(outcome)]).toEqual(['hello from git\n', '']);
      const credentials = upstream.requests.map(({ headers }) => headers.authorization);
      expect(credentials[0]).toBeUndefined();
      expect(credentials.slice(1)).not.toEqual([]);
      for (const each of credentials.slice(1))
        expect(each).toBe(`Basic ${Buffer.from(`me:${KEY}`).toString('base64')}`);
    },
  );
});

const EVENTS = (outgoing: ServerResponse) => (value: object & { type?: string }) =>
  outgoing.write(`${value.type === undefined ? '' : `event: ${value.type}\n`}data: ${JSON.stringify(value)}\n\n`);

function answerAnthropic() {
  const next = Promise.withResolvers<void>();
  return async (request: Recorded, outgoing: ServerResponse) => {
    if (request.body.includes('go on')) {
      next.resolve();
      outgoing.setHeader('content-type', 'application/json');
      const content = [{ type: 'text', text: 'gone' }];
      outgoing.end(
        JSON.stringify({
          id: 'm2',
          type: 'message',
          role: 'assistant',
          content,
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
      );
      return;
    }
    outgoing.setHeader('content-type', 'text/event-stream; charset=utf-8');
    const send = EVENTS(outgoing);
    send({
      type: 'message_start',
      message: { id: 'm1', type: 'message', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
    } as object);
    send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as object);
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } } as object);
    await next.promise;
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'two' } } as object);
    send({ type: 'content_block_stop', index: 0 } as object);
    send({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 10 } } as object);
    send({ type: 'message_stop' });
    outgoing.end();
  };
}

function answerOpenai() {
  const next = Promise.withResolvers<void>();
  return async (request: Recorded, outgoing: ServerResponse) => {
    const part = (delta: object) => ({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta }] });
    if (request.body.includes('go on')) {
      next.resolve();
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(
        JSON.stringify({ id: 'c2', choices: [{ index: 0, message: { role: 'assistant', content: 'gone' } }] }),
      );
      return;
    }
    outgoing.setHeader('content-type', 'text/event-stream');
    const send = EVENTS(outgoing);
    send(part({ content: 'one' }));
    await next.promise;
    send(part({ content: 'two' }));
    send(part({}));
    outgoing.end('data: [DONE]\n\n');
  };
}

function makeRepository(): string {
  const root = tempDir('git');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: root },
    });
  git('init', '-q', 'work');
  execFileSync('bash', ['-c', 'echo hello from git > work/hello.txt'], { cwd: root });
  git('-C', 'work', 'add', '.');
  git('-C', 'work', 'commit', '-qm', 'first');
  git('clone', '-q', '--bare', 'work', 'repo.git');
  return root;
}

/** git's own server as a CGI program, behind a password. */
function answerGit(root: string) {
  return async (request: Recorded, outgoing: ServerResponse) => {
    const wanted = `Basic ${Buffer.from(`me:${KEY}`).toString('base64')}`;
    if (request.headers.authorization !== wanted) {
      outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const url = new URL(request.url, 'https://git.test');
    const child = spawn('git', ['http-backend'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: process.env.PATH,
        HOME: root,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    child.stdin.end(request.bytes);
    const output = await buffer(child.stdout);
    const end = output.indexOf('\r\n\r\n');
    const head = output.subarray(0, end).toString('latin1').split('\r\n');
    for (const line of head) {
      const [name = '', ...value] = line.split(': ');
      if (name === 'Status') outgoing.statusCode = Number.parseInt(value.join(': '), 10);
      else outgoing.setHeader(name, value.join(': '));
    }
    outgoing.end(output.subarray(end + 4));
  };
}
