import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AuthInfo,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  McpServer,
} from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Answer } from '../../src/mcp/answer.ts';
import { type AskedRequest, SessionTransport } from '../../src/mcp/session-transport.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

/** What a call does, told by its name; `go` lets those that wait go on. */
type Calls = { go: () => void; begun: Promise<void>; lastSeen: ServerResponse | null };
type Way = 'short' | 'sdk';
type Sent = { status: number; type: string; text: string; session: string | null };

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};
const NEWS: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/progress' };
const RESULT: JSONRPCMessage = { jsonrpc: '2.0', id: 1, result: {} };
const callOf = (name: string, id: number | string = 1): JSONRPCRequest => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
});

async function openSession(way: Way) {
  const waiting = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const calls: Calls = { go: () => waiting.resolve(), begun: begun.promise, lastSeen: null };
  const mcp = new McpServer({ name: 'x', version: '1' }, { capabilities: { tools: {} } });
  mcp.server.setRequestHandler('tools/call', async ({ params: { name } }, { http, mcpReq }) => {
    if (name === 'tells') {
      const params = { progressToken: 'p', progress: 1, message: 'on the way' };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    if (name.startsWith('waits')) {
      begun.resolve();
      await waiting.promise;
    }
    return { content: [{ type: 'text', text: `${name} for ${http?.authInfo?.clientId ?? 'nobody'}` }] };
  });
  const transport = new SessionTransport('the-session', () => undefined);
  await mcp.connect(transport);
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    calls.lastSeen = res;
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(parts).toString());
    const one = isJSONRPCRequest(body) && body.method !== 'initialize' && way === 'short' ? body : null;
    const auth: AuthInfo = { token: '', clientId: String(req.headers['x-who'] ?? ''), scopes: [] };
    await transport.handle(Object.assign(req, { auth }) as AskedRequest, res, body, one);
  };
  const server = createServer((req, res) => void answer(req, res));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await mcp.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const ask = async (body: unknown, more: Record<string, string | null> = {}, signal?: AbortSignal): Promise<Sent> => {
    const all = { ...HEADERS, 'mcp-session-id': 'the-session', ...more };
    const headers = Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null),
    );
    const got = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers, signal: signal ?? null });
    const type = got.headers.get('content-type') ?? '';
    return { status: got.status, type, text: await got.text(), session: got.headers.get('mcp-session-id') };
  };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  await ask({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, { 'mcp-session-id': null });
  return { ask, calls, mcp };
}

/** What an answer says, whatever its form. */
const messagesOf = ({ type, text }: Sent): unknown[] =>
  type.includes('event-stream')
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown)
    : [JSON.parse(text) as unknown];

describe('the answer to one request of a session', () => {
  test('is JSON when there is nothing before the result', async () => {
    const { ask } = await openSession('short');
    const sent = await ask(callOf('plain'), { 'x-who': 'ann' });
    expect(sent).toMatchObject({ status: 200, type: 'application/json', session: 'the-session' });
    expect(messagesOf(sent)).toMatchObject([{ id: 1, result: { content: [{ text: 'plain for ann' }] } }]);
  });

  test('is a stream when there is, with the result last', async () => {
    const { ask } = await openSession('short');
    const sent = await ask(callOf('tells'));
    expect(sent).toMatchObject({ status: 200, type: 'text/event-stream', session: 'the-session' });
    expect(messagesOf(sent)).toMatchObject([{ method: 'notifications/progress' }, { id: 1, result: {} }]);
  });

  test('becomes a stream when it takes a while, on which something always comes', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { ask, calls } = await openSession('short');
    const asked = ask(callOf('waits'));
    await calls.begun;
    await vi.waitFor(() => expect(calls.lastSeen?.headersSent).toBe(true));
    vi.advanceTimersByTime(31_000);
    calls.go();
    const sent = await asked;
    expect(sent.text.match(/^: keepalive$/gm)).toHaveLength(2);
    expect(messagesOf(sent)).toMatchObject([{ id: 1, result: {} }]);
  });

  test('goes to whoever asked, with their own word of who they are', async () => {
    const { ask, calls } = await openSession('short');
    const asked = ['ann', 'bob', 'eve'].map((who, id) => ask(callOf(`waits-${who}`, id), { 'x-who': who }));
    await calls.begun;
    calls.go();
    for (const [id, who] of ['ann', 'bob', 'eve'].entries()) {
      const text = `waits-${who} for ${who}`;
      expect(messagesOf(await (asked[id] as Promise<Sent>))).toMatchObject([{ id, result: { content: [{ text }] } }]);
    }
  });

  test.each([
    ['alone', callOf('plain')],
    ['among others', [callOf('plain', 2), callOf('plain')]],
  ])('is a refusal for an id that is under way, %s; what is under way gets its own', async (_how, body) => {
    for (const way of ['short', 'sdk'] as const) {
      const { ask, calls } = await openSession(way);
      const first = ask(callOf('waits'));
      await calls.begun;
      const second = await ask(body);
      expect(second).toMatchObject({ status: 400, type: 'application/json' });
      expect(messagesOf(second)).toMatchObject([{ error: { code: -32600 } }]);
      calls.go();
      expect(messagesOf(await first)).toMatchObject([{ id: 1, result: { content: [{ text: 'waits for ' }] } }]);
      expect((await ask(body)).status).toBe(200);
    }
  });

  test('is a refusal where one body asks twice under one id', async () => {
    const { ask } = await openSession('short');
    expect((await ask([callOf('plain'), callOf('tells')])).status).toBe(400);
    expect((await ask(callOf('plain'))).status).toBe(200);
  });

  test('is that there is no such session, when it ends meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ask, calls, mcp } = await openSession('short');
    const asked = ask(callOf('waits'));
    await calls.begun;
    await mcp.close();
    expect(await asked).toMatchObject({ status: 404, type: 'application/json' });
    expect((await ask(callOf('plain', 2))).status).toBe(404);
  });

  test('is a stream that ends without it, when the session ends later', async () => {
    const { ask, calls, mcp } = await openSession('short');
    const asked = ask(callOf('waits'));
    await calls.begun;
    await vi.waitFor(() => expect(calls.lastSeen?.headersSent).toBe(true));
    await mcp.close();
    expect(await asked).toMatchObject({ status: 200, type: 'text/event-stream', text: '' });
  });

  test('is dropped when nobody waits for it any more, and the session goes on', async () => {
    const { ask, calls } = await openSession('short');
    const gone = new AbortController();
    const asked = ask(callOf('waits'), {}, gone.signal);
    await calls.begun;
    gone.abort();
    await expect(asked).rejects.toThrow(/abort/);
    await vi.waitFor(() => expect(calls.lastSeen?.closed).toBe(true));
    // Its id is free again.
    expect(await ask(callOf('plain'))).toMatchObject({ status: 200, type: 'application/json' });
    calls.go();
    expect((await ask(callOf('plain'))).status).toBe(200);
  });

  test.each([
    ['its end', 200, (answer: Answer) => answer.end(RESULT)],
    ['the end of a stream', 200, (answer: Answer) => [answer.tell(NEWS), answer.end(RESULT)]],
    ['the end of its session', 404, (answer: Answer) => answer.leave()],
    ['the end of its session on a stream', 200, (answer: Answer) => [answer.tell(NEWS), answer.leave()]],
  ])('has nothing after %s, also when the client is slow to read it', async (_what, status, finish) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const faults: unknown[] = [];
    const server = createServer((_req, res) => {
      res.on('error', error => faults.push(error));
      try {
        finish(new Answer(res, 's'));
        vi.advanceTimersByTime(40_000);
      } catch (error) {
        faults.push(error);
      }
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(answer.status).toBe(status);
    expect(await answer.text()).not.toContain('keepalive');
    expect(faults).toEqual([]);
  });

  test('may fail to reach a caller who was cut off, and that is all', async () => {
    const faults: unknown[] = [];
    const server = createServer((_req, res) => {
      res.on('error', error => faults.push(error));
      const [first, second, third] = [new Answer(res, 's'), new Answer(res, 's'), new Answer(res, 's')];
      res.destroy();
      first.tell(NEWS);
      second.end(RESULT);
      third.leave();
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    await expect(fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).rejects.toThrow();
    expect(faults).toEqual([]);
  });
});

describe('the short way lets nobody in whom the SDK refuses', () => {
  const some = (...values: (string | null)[]) => fc.constantFrom(...values);
  const requests = fc.record({
    headers: fc.record({
      accept: some(HEADERS.accept, '*/*', 'application/json', 'text/event-stream', ''),
      'content-type': some(
        HEADERS['content-type'],
        'application/json; charset=utf-8',
        'text/plain',
        'application/jsonx',
      ),
      'mcp-session-id': some('the-session', 'the-session', 'the-session', 'another', null),
      'mcp-protocol-version': some('2025-11-25', '2025-06-18', '1999-01-01', null),
    }),
    body: fc.constantFrom<unknown>(
      callOf('plain'),
      callOf('plain', 'a name'),
      { ...callOf('plain'), method: 'no/such' },
      { ...callOf('plain'), params: { name: 1 } },
      { ...callOf('plain'), id: null },
      { ...callOf('plain'), id: 1.5 },
      { ...callOf('plain'), more: true },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 9, result: {} },
      [callOf('plain', 1), callOf('plain', 2)],
      {},
    ),
  });

  test('and says the same as the SDK, for whatever is sent', async () => {
    const [short, sdk] = [await openSession('short'), await openSession('sdk')];
    await fc.assert(
      fc.asyncProperty(requests, async ({ headers, body }) => {
        const [ours, theirs] = [await short.ask(body, headers), await sdk.ask(body, headers)];
        expect(ours.status).toBe(theirs.status);
        expect(ours.session).toBe(theirs.session);
        if (ours.text === '' || theirs.text === '') expect(ours.text).toBe(theirs.text);
        else expect(messagesOf(ours)).toEqual(messagesOf(theirs));
      }),
      { numRuns: 400 },
    );
  });
});
