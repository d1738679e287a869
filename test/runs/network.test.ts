import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRule } from '../../src/egress/index.ts';
import { newTool, person, withData } from '../support/approvals.ts';
import { NO_SANDBOX, runSkill, tool } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

/** Asks the proxy that it was told of for the URL that it is given, and says what came back. */
const ASKS = `#!/usr/bin/env node
const { Agent, request } = require('node:http');
const [url] = process.argv.slice(2);
const proxy = process.env.HTTP_PROXY ? new URL(process.env.HTTP_PROXY) : { hostname: '127.0.0.1', port: 3128 };
const asked = request({ host: proxy.hostname, port: proxy.port, path: url, agent: new Agent(), headers: { host: 'x' } }, answer => {
  console.log(process.env.HTTPS_PROXY, answer.statusCode);
});
asked.on('error', error => console.log(process.env.HTTPS_PROXY, error.code));
asked.end();
`;

const OWN_SERVER = `#!/usr/bin/env python3
import http.server, threading, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200); self.end_headers(); self.wfile.write(b"mine")
  def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in "127.0.0.1", "localhost":
  print(urllib.request.urlopen(f"http://{host}:{server.server_port}/").read().decode())
`;

describe.skipIf(NO_SANDBOX)('the network that a person granted', () => {
  const reached: string[] = [];
  const server = createServer((incoming, outgoing) => {
    reached.push(incoming.url ?? '');
    outgoing.end('secret of this machine');
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  const newAsker = (frontmatter: string) => {
    const path = newTool({ frontmatter });
    writeFileSync(join(path, 'scripts/say.sh'), ASKS);
    return path;
  };

  test.each([
    ['cold', 0],
    ['from the pool', 4],
  ])(
    'AS-14 GB-21 any public address, %s: a proxy of its own, which does not lead to this machine or its network',
    async (_, warm) => {
      const { skillbox, data, sql } = await withData(null, warm);
      const path = newAsker('network: true\n');
      const urls = [
        `http://127.0.0.1:${port}/`,
        'http://127.0.0.1/',
        'http://10.0.0.1/',
        'http://169.254.169.254/',
        'http://[::1]/',
      ];
      for (const [at, url] of urls.entries()) {
        // The first names a port that is not the web's; the others addresses that are not public.
        const status = at === 0 ? 403 : 502;
        const held = () => [...skillbox.warmth().keys, ...skillbox.warmth().standby.keys].every(key => key.ready > 0);
        if (warm > 0) await expect.poll(held, { timeout: 10_000 }).toBe(true);
        const asked = person('once');
        const record = await runSkill(skillbox, path, { target: tool('say', { text: url }), ask: asked.ask });
        expect(asked.seen[0]).toMatchObject({
          grant: { network: { kind: 'public' } },
          preview: { network: 'any public address' },
        });
        expect((record.output as { output: string }).output).toBe(`http://127.0.0.1:3128 ${status}\n`);
      }
      expect(reached).toEqual([]);
      expect(readdirSync(join(data, 'egress'))).toEqual([]);
      const accepted = sql(`SELECT body FROM audit WHERE type = 'run.accepted'`).map(({ body }) =>
        JSON.parse(String(body)),
      );
      expect(accepted.map(({ data: told }) => told.network)).toEqual(urls.map(() => ({ kind: 'public' })));
      const { keys, standby } = skillbox.warmth();
      if (warm > 0)
        expect([...keys, ...standby.keys].map(({ label, hits, misses }) => [label, hits, misses])).toEqual([
          ['any program, network', urls.length - 1, 1],
          ['egress proxy', urls.length - 1, 1],
        ]);
      await skillbox.close();
    },
  );

  test('a server that the skill starts itself is reached by it, through no proxy', async () => {
    const { skillbox } = await withData(null, 0);
    const path = newAsker('network: true\n');
    writeFileSync(join(path, 'scripts/say.sh'), OWN_SERVER);
    const { ask } = person('once');
    const record = await runSkill(skillbox, path, { target: tool('say', { text: 'x' }), ask });
    expect((record.output as { output: string }).output).toBe('mine\nmine\n');
  });

  test('a SSL_CERT_FILE that is not there is told with the result', async () => {
    const { skillbox, data } = await withData(null, 0);
    const given = process.env.SSL_CERT_FILE;
    process.env.SSL_CERT_FILE = join(data, 'no-roots.pem');
    try {
      const target = tool('say', { text: 'http://127.0.0.1/' });
      const record = await runSkill(skillbox, newAsker('network: true\n'), { target, ask: person('once').ask });
      expect(record.warnings).toContainEqual(expect.stringContaining(`${join(data, 'no-roots.pem')}, which is not`));
    } finally {
      if (given === undefined) delete process.env.SSL_CERT_FILE;
      else process.env.SSL_CERT_FILE = given;
    }
  });

  test('GB-21 none: no proxy, no variable', async () => {
    const { skillbox } = await withData();
    const record = await runSkill(skillbox, newAsker(''), {
      target: tool('say', { text: `http://127.0.0.1:${port}/` }),
    });
    expect((record.output as { output: string }).output).toBe('undefined ECONNREFUSED\n');
    await skillbox.close();
  });
});

test('any public address means the web: other ports are refused, and what a name leads to is vetted as private', () => {
  expect(findRule('public', { host: 'a.example', port: 443 })).toEqual({
    host: 'a.example',
    port: 443,
    private: false,
  });
  expect(findRule('public', { host: 'a.example', port: 80 })).toMatchObject({ private: false });
  for (const port of [22, 25, 8080]) expect(findRule('public', { host: 'a.example', port })).toHaveProperty('refused');
});
