import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EMPTY_SHELF } from '../../src/agent/index.ts';
import { callerOf, createHost } from '../../src/mcp/index.ts';
import { SESSION_LIMITS, Sessions } from '../../src/mcp/sessions.ts';
import { makeZip } from '../skill/make-zip.ts';
import { type LiveServer, openLiveServer } from '../support/live-server.ts';
import { zipOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';

type Answer = { status: number; text: string; session: string | undefined; retryAfter: string | undefined };
type Sent = { method?: string; body?: string; headers?: Record<string, string> };

const BEGIN = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const LIST = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}';
const CALL = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_skills","arguments":{}}}';

describe.skipIf(NO_SANDBOX)('MCP of a server, attacked by those who have keys to it', { timeout: 60_000 }, () => {
  let live: LiveServer;
  beforeAll(async () => {
    live = await openLiveServer({ SKILLBOX_SERVER_FAILURES_PER_MINUTE: '1000' });
    for (const tenant of ['alpha', 'beta']) {
      await live.makeTenant(tenant);
      const { key } = await live.makeKey(tenant, ['publish']);
      const body = zipOf({ name: `of-${tenant}`, body: 'echo' });
      expect((await live.ask(key, 'POST', '/v1/skills', { body })).status).toBe(201);
    }
  }, 60_000);
  afterAll(() => live?.close());

  /** By hand: a browser's headers, and a Host of one's own. The first piece of a stream is all that is read of it. */
  const send = (key: string | null, { method = 'POST', body, headers = {} }: Sent): Promise<Answer> => {
    const { hostname, port } = new URL(live.url);
    const given = {
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      accept: 'application/json, text/event-stream',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const req = request({ host: hostname, port, path: '/mcp', method, headers: given }, res => {
        let text = '';
        const done = () => {
          const { 'mcp-session-id': session, 'retry-after': retryAfter } = res.headers as Record<string, string>;
          resolve({ status: res.statusCode ?? 0, text, session, retryAfter });
          req.destroy();
        };
        res.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
          if (res.headers['content-type']?.startsWith('text/event-stream') && text.includes('\n\n')) done();
        });
        if (method === 'GET' && res.statusCode === 200) done();
        res.on('end', done);
      });
      req.on('error', reject);
      req.end(body);
    });
  };
  const begin = async (key: string): Promise<string> => {
    const { status, session, text } = await send(key, { body: BEGIN });
    expect(status, text).toBe(200);
    return session ?? '';
  };

  /** The answers to many messages in one body. */
  const batch = async (
    key: string,
    headers: Record<string, string>,
    messages: readonly string[],
  ): Promise<string[]> => {
    const answer = await fetch(`${live.url}/mcp`, {
      method: 'POST',
      body: `[${messages.join()}]`,
      headers: {
        ...headers,
        authorization: `Bearer ${key}`,
        'mcp-protocol-version': '2025-03-26',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
    });
    return (await answer.text()).split('\n\n').filter(event => event.includes('"jsonrpc"'));
  };

  it('the session of one key is not there for another, of the same tenant or not', async () => {
    const mine = await live.makeKey('alpha', ['read', 'run']);
    const session = await begin(mine.key);
    const inside = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    expect((await send(mine.key, { body: LIST, headers: inside })).text).toContain('of-alpha');
    const others = [
      await live.makeKey('alpha', ['read', 'run', 'approve']),
      await live.makeKey('beta', ['read', 'run']),
      { key: live.root },
    ];
    for (const { key } of others) {
      for (const sent of [{ body: LIST }, { body: CALL }, { method: 'GET' }, { method: 'DELETE' }]) {
        const answer = await send(key, { ...sent, headers: inside });
        expect([sent, answer.status]).toEqual([sent, 404]);
        expect(answer.text).not.toContain('of-alpha');
      }
    }
    expect((await send(null, { body: LIST, headers: inside })).status).toBe(401);
    // It is still whose it was, and a session that somebody else named is never begun.
    expect((await send(mine.key, { body: LIST, headers: inside })).status).toBe(200);
    const named = await send(mine.key, { body: BEGIN, headers: { 'mcp-session-id': 'chosen-by-me' } });
    expect(named.status).toBe(404);
    expect((await send(mine.key, { method: 'DELETE', headers: inside })).status).toBe(200);
    expect((await send(mine.key, { body: LIST, headers: inside })).status).toBe(404);
  });

  it('names that lead here and pages of other sites are refused, with a key or without', async () => {
    const { key } = await live.makeKey('alpha', ['read']);
    for (const headers of [
      { host: 'evil.example' },
      { host: 'localhost.evil.example' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:1' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
    ]) {
      for (const given of [key, null]) {
        for (const method of ['POST', 'GET', 'DELETE']) {
          const { status, session } = await send(given, {
            method,
            ...(method === 'POST' ? { body: BEGIN } : {}),
            headers,
          });
          expect([headers, method, status, session]).toEqual([headers, method, 403, undefined]);
        }
      }
    }
  });

  it('keys are asked for before anything is read, and refusals are told as JSON-RPC has them', async () => {
    for (const key of [null, 'wrong', `sbx_${'0'.repeat(26)}_${'a'.repeat(51)}`])
      expect((await send(key, { body: 'x'.repeat(20_000) })).status).toBe(401);
    const { key } = await live.makeKey('alpha', ['publish']);
    const { status, text } = await send(key, { body: BEGIN });
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { message: 'this needs the scope read or run', data: { error: 'FORBIDDEN', hint: expect.any(String) } },
    });
  });

  it('what is too large, too deep, of another type or no JSON is refused', async () => {
    const { key } = await live.makeKey('alpha', ['read']);
    for (const [body, headers, status] of [
      ['x'.repeat(9 * 1024 ** 2), {}, 413],
      [`${'['.repeat(5000)}${']'.repeat(5000)}`, {}, 400],
      ['{"jsonrpc":', {}, 400],
      ['{"__proto__":{"x":1}}', {}, 400],
      [BEGIN, { 'content-type': 'text/plain' }, 415],
      [LIST, {}, 400],
      ['[]', {}, 400],
    ] as const)
      expect([body.slice(0, 20), (await send(key, { body, headers })).status]).toEqual([body.slice(0, 20), status]);
    for (const method of ['PUT', 'PATCH']) expect((await send(key, { method, body: '{}' })).status).toBe(405);
    expect((await send(key, { body: BEGIN })).status).toBe(200);
  });

  it('messages in one body count as many requests', async () => {
    await live.makeTenant('few', { requests_per_minute: 60 });
    const { key } = await live.makeKey('few', ['read']);
    const batch = `[${Array.from({ length: 80 }, () => LIST).join()}]`;
    const { status, retryAfter } = await send(key, { body: batch });
    expect(status).toBe(429);
    expect(Number(retryAfter)).toBeGreaterThan(0);
    expect((await send(key, { body: BEGIN })).status).toBe(429);
    // Others are served.
    const other = await live.makeKey('alpha', ['read']);
    expect((await send(other.key, { body: BEGIN })).status).toBe(200);
  });

  it('a flood of sessions ends those of who began them, and nobody else', async () => {
    const victim = await live.makeKey('alpha', ['read']);
    const kept = await begin(victim.key);
    const { key } = await live.makeKey('beta', ['read']);
    const first = await begin(key);
    for (let i = 0; i < 8; i++) await Promise.all(Array.from({ length: 16 }, () => begin(key)));
    const inside = (session: string) => ({ 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' });
    expect((await send(key, { body: LIST, headers: inside(first) })).status).toBe(404);
    expect((await send(victim.key, { body: LIST, headers: inside(kept) })).status).toBe(200);
  });

  describe('who asks for much and reads nothing', () => {
    const META = 'io.modelcontextprotocol/';
    const open: Socket[] = [];
    let key: string;
    beforeAll(async () => {
      await live.makeTenant('greedy');
      key = (await live.makeKey('greedy', ['publish', 'read'])).key;
      const skill = (name: string, content: string) =>
        makeZip([
          {
            name: 'SKILL.md',
            content: `---\nname: ${name}\ndescription: Made for a test. Use when asked.\nmetadata:\n  version: 1.0.0\n---\n\nDo.\n`,
          },
          { name: 'references/all.md', content },
        ]);
      for (const body of [
        skill('large', 'x'.repeat(14 * 1024 ** 2)),
        skill('lines', '\n'.repeat(14 * 1024 ** 2)),
        skill('some', 'y'.repeat(1024 ** 2)),
      ])
        expect((await live.ask(key, 'POST', '/v1/skills', { body })).status).toBe(201);
    });
    const leave = () => {
      for (const socket of open.splice(0)) socket.destroy();
    };
    afterEach(leave);

    /** The beginning of the answer; nothing more is read, and the connection stays open. */
    const ask = (method: string, name: string, given: object): Promise<string> => {
      const { hostname, port } = new URL(live.url);
      const _meta = {
        [`${META}protocolVersion`]: '2026-07-28',
        [`${META}clientInfo`]: { name: 'raw', version: '1' },
        [`${META}clientCapabilities`]: {},
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...given, _meta } });
      const head = [
        'POST /mcp HTTP/1.1',
        `Host: ${hostname}:${port}`,
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        'Accept: application/json, text/event-stream',
        'MCP-Protocol-Version: 2026-07-28',
        `Mcp-Method: ${method}`,
        ...(name === '' ? [] : [`Mcp-Name: ${name}`]),
        `Content-Length: ${body.length}`,
      ];
      const socket = connect(Number(port), hostname);
      open.push(socket);
      return new Promise((resolve, reject) => {
        let text = '';
        socket.on('error', reject);
        socket.on('data', piece => {
          text += piece.toString('latin1');
          if ((text.split('\r\n\r\n', 2)[1] ?? '').length < 80) return;
          socket.pause();
          resolve(text);
        });
        socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      });
    };
    const read = (skill: string) => {
      const uri = `skill://${skill}/references/all.md`;
      return ask('resources/read', uri, { uri });
    };

    it('gets a few files at once, and the next when those are read; others are served', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => read('large')));
      const given = answers.filter(text => text.includes('xxxx')).length;
      expect(given).toBeGreaterThan(0);
      expect(given).toBeLessThanOrEqual(2);
      expect(answers.filter(text => text.includes('too much is being read at once'))).toHaveLength(12 - given);
      const other = await live.makeKey('alpha', ['read']);
      expect((await send(other.key, { body: BEGIN })).status).toBe(200);
      leave();
      await expect.poll(() => read('large'), { timeout: 5000 }).toContain('xxxx');
    });

    it('gets as many files in one body as there is room for', async () => {
      const headers = { 'mcp-session-id': await begin(key), 'mcp-protocol-version': '2025-11-25' };
      const args = '"arguments":{"skill":"some","path":"references/all.md"}';
      const call = CALL.replace('list_skills', 'read_skill_resource').replace('"arguments":{}', args);
      const many = Array.from({ length: 40 }, (_, id) => call.replace('"id":3', `"id":${id + 100}`));
      const events = await batch(key, headers, many);
      const refused = events.filter(event => event.includes('too much is being read at once'));
      expect([events.length, refused.length]).toEqual([40, 24]);
    });

    it('is answered nothing more, whatever it asks for', async () => {
      // Every byte of these becomes two on the way.
      for (let i = 0; i < 2; i++) expect(await read('lines')).toContain('200 OK');
      const list = () => ask('tools/list', '', {});
      expect(await list()).toMatch(/^HTTP\/1.1 503 .*\r\n[\s\S]*Read what was answered before/);
      leave();
      await expect.poll(list, { timeout: 5000 }).toContain('200 OK');
    });
  });

  it('tools with endless descriptions are offered as far as there is room, and their skills with the rest', async () => {
    await live.makeTenant('wordy');
    const { key } = await live.makeKey('wordy', ['publish', 'read', 'run']);
    for (let i = 0; i < 6; i++) {
      const table =
        '| Name | Type | Required | Description |\n|---|---|---|---|\n| word | string | yes | What to say. |';
      const content = `---\nname: wordy-${i}\nversion: 1.0.0\ndescription: Made for a test. Use when asked.\nmodes: [Global]\n---\n\n### say_${i}\n\n${'long '.repeat(180_000)}\n\n#### Parameters\n\n${table}\n\n#### Command\n\n\`\`\`bash\necho {{word}}\n\`\`\`\n`;
      const body = makeZip([{ name: 'SKILL.md', content }]);
      const answer = await live.ask(key, 'POST', '/v1/skills', { body });
      expect(answer.status, answer.text.slice(0, 500)).toBe(201);
    }
    const headers = { 'mcp-session-id': await begin(key), 'mcp-protocol-version': '2025-11-25' };
    const { text } = await send(key, { body: LIST, headers });
    expect(text.length).toBeLessThan(5 * 1024 ** 2);
    expect(text).toContain('say_0');
    expect(text).not.toContain('say_5');
    expect(text).toContain('wordy-5');
    // Many such lists for one short body: as many as there is room for.
    const many = Array.from({ length: 20 }, (_, id) => LIST.replace('"id":2', `"id":${id + 100}`));
    const events = await batch(key, headers, many);
    const refused = events.filter(event => event.includes('too much is being read at once'));
    expect(events).toHaveLength(20);
    expect(refused.length).toBeGreaterThan(5);
    expect(refused.length).toBeLessThan(20);
  });

  it('a fault of the server is told without its words', async () => {
    const { key } = await live.makeKey('alpha', ['read']);
    const session = await begin(key);
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    const body = CALL.replace('list_skills', 'get_run').replace('{}', '{"run_id":"../../etc/passwd"}');
    const { text } = await send(key, { body, headers });
    expect(text).toContain('NOT_FOUND');
    expect(text).not.toContain(live.data);
  });
});

describe('sessions', () => {
  const limits = { ...SESSION_LIMITS, ofCaller: 3, ofTenant: 5, ofAll: 12 };
  const desk = { shelf: EMPTY_SHELF, own: null, workspaceNames: false };
  const host = createHost({ desk, version: '0', workspace: null, callerOf });
  const sessions = new Sessions(limits);
  const lost = new Set<string>();
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [tenant = '', id = ''] = String(req.headers.authorization).split(' ');
    const confirm = async () => {
      if (lost.has(id)) throw new Error('revoked');
    };
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(parts).toString());
    await sessions.serve({ host, tenant, id, confirm }, { req, res, body, request: null });
  };
  const server = createServer((req, res) => void answer(req, res));
  beforeAll(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)));
  afterAll(async () => {
    await sessions.close();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });
  const post = async (who: string, body: string, session?: string) => {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      body,
      headers: {
        authorization: who,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
    });
    await answer.text();
    return { status: answer.status, session: answer.headers.get('mcp-session-id') ?? '' };
  };
  const lives = async (who: string, session: string) => (await post(who, PING, session)).status === 200;
  const PING = '{"jsonrpc":"2.0","id":9,"method":"ping"}';

  it('are bounded for a caller, a tenant and all, and the small do not pay for the large', async () => {
    const small = (await post('small one', BEGIN)).session;
    await Promise.all(Array.from({ length: 50 }, () => post('large one', BEGIN)));
    expect(sessions.size).toBe(1 + limits.ofCaller);
    await Promise.all(Array.from({ length: 50 }, (_, i) => post(`large ${i}`, BEGIN)));
    expect(sessions.size).toBe(1 + limits.ofTenant);
    await Promise.all(Array.from({ length: 60 }, (_, i) => post(`other-${i % 3} ${i}`, BEGIN)));
    expect(sessions.size).toBe(limits.ofAll);
    expect(await lives('small one', small)).toBe(true);
    expect(host.live.size).toBe(limits.ofAll);
  });

  it('end with the access of who began them, and leave nothing behind when they were none', async () => {
    const before = sessions.size;
    const { session } = await post('small two', BEGIN);
    lost.add('two');
    await sessions.recheck();
    expect(await lives('small two', session)).toBe(false);
    for (let i = 0; i < 20; i++) expect((await post('small one', PING)).status).toBe(400);
    expect(sessions.size).toBeLessThanOrEqual(before);
  });
});
