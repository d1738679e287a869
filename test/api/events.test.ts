import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { RouteOptions, ServerOptions } from '../../src/api/index.ts';
import { as, byName } from './support.ts';
import { listening, publish, type Served, serveWorld, start } from './world.ts';

let served: Served;
let url: string;
afterEach(() => served.server.close());

async function prepare(limits: RouteOptions['limits'] = {}, options: Partial<ServerOptions> = {}): Promise<string> {
  served = await serveWorld(limits, options);
  for (const name of ['hello', 'slow-a']) await publish(served.server, name);
  url = await listening(served.server);
  return start(served.server, 'slow-a');
}

const follow = (id: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${url}/v1/executions/${id}/events`, {
    headers: { ...as('read'), ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
const idsOf = (text: string) => Array.from(text.matchAll(/^id: (.*)$/gm), match => match[1]);

describe('events of a run', () => {
  it('come as they happen, until it has ended', async () => {
    const id = await prepare();
    const answer = await follow(id);
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (word: string) => {
      while (!text.includes(word)) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: '' };
        if (done) return;
        text += value;
      }
    };
    await until('"running"');
    served.world.print('acme', id, 'first\n');
    await until('first');
    served.world.print('acme', id, 'second\n');
    served.world.end('acme', id, { output: { done: true } });
    await until('"done"');
    expect(idsOf(text)).toEqual(['0', '1', '2', '2-end']);
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
  });

  it('end for a reader who may not read any more', async () => {
    let isRevoked = false;
    let asked = false;
    const authenticate = (token: string) => {
      asked = true;
      return byName(isRevoked ? 'nobody' : token);
    };
    const id = await prepare({ confirmMs: 20 }, { authenticate });
    const other = await follow(id);
    isRevoked = true;
    const text = await other.text().catch(() => 'cut off');
    served.world.print('acme', id, 'first\n');
    expect(text).not.toContain('first');
    // Nor is an answer given to whoever lost their key while they waited for it.
    isRevoked = false;
    asked = false;
    const waiting = fetch(`${url}/v1/executions/${id}?wait_ms=5000`, { headers: as('read') });
    await vi.waitFor(() => expect(asked).toBe(true));
    isRevoked = true;
    served.world.end('acme', id);
    expect((await waiting).status).toBe(401);
  });

  it('go on where a reader left off, and say when there is nothing more', async () => {
    const id = await prepare();
    for (const text of ['a', 'b', 'c']) served.world.print('acme', id, text);
    served.world.end('acme', id);
    expect(idsOf(await (await follow(id, { 'last-event-id': '2' })).text())).toEqual(['3', '3-end']);
    expect(
      idsOf(await (await fetch(`${url}/v1/executions/${id}/events?offset=1`, { headers: as('read') })).text()),
    ).toEqual(['2', '3', '3-end']);
    expect((await follow(id, { 'last-event-id': '3-end' })).status).toBe(204);
    for (const odd of ['-1', '1e9', 'x', '9'.repeat(30)])
      expect(idsOf(await (await follow(id, { 'last-event-id': odd })).text()).length).toBe(4);
  });

  it('are kept alive while nothing happens', async () => {
    const id = await prepare({ heartbeatMs: 10 });
    const control = new AbortController();
    const reader = (await follow(id, {}, control.signal)).body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes(':\n\n:\n\n')) text += (await reader?.read())?.value ?? '';
    control.abort();
    await reader?.cancel().catch(() => {});
  });

  it('a reader that takes nothing is cut off, and nothing is kept for it', async () => {
    const id = await prepare({ slowReaderMs: 150 });
    const piece = 'x'.repeat(64 * 1024);
    for (let i = 0; i < 400; i++) served.world.print('acme', id, piece);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head = [`GET /v1/executions/${id}/events HTTP/1.1`, 'Host: 127.0.0.1', 'Authorization: Bearer read', '', ''];
    socket.write(head.join('\r\n'));
    socket.pause();
    await new Promise(resolve => setTimeout(resolve, 600));
    // What the kernel held is all that there is: 400 pieces would be 26 megabytes.
    let bytes = 0;
    socket.on('data', chunk => {
      bytes += chunk.length;
    });
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.resume();
    socket.on('error', () => {});
    await closed;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(20_000_000);
  });

  it('are bounded in number, and all end when the server stops', async () => {
    const id = await prepare({ maxStreams: 2 });
    const open = await Promise.all([follow(id), follow(id)]);
    const third = await follow(id);
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '5']);
    const ends = open.map(answer => answer.text().catch(() => 'broken'));
    await served.server.close();
    expect((await Promise.all(ends)).every(text => text.includes('retry:'))).toBe(true);
  });

  it('a reader that leaves frees its place', async () => {
    const id = await prepare({ maxStreams: 1 });
    const control = new AbortController();
    const first = await follow(id, {}, control.signal);
    expect(first.status).toBe(200);
    control.abort();
    await expect
      .poll(async () => {
        const again = new AbortController();
        const { status } = await follow(id, {}, again.signal);
        again.abort();
        return status;
      })
      .toBe(200);
  });
});
