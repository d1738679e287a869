import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { IncomingMessage, request, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { HostConnection } from '../../src/broker/host/connection.ts';
import { Passage } from '../../src/broker/passing.ts';
import { Scrubber } from '../../src/broker/scrub.ts';
import { briefOf, endpointOf, KEY, newToken, type Opened, openBroker, pinsTo } from '../support/broker.ts';
import { tidy } from '../support/temp.ts';
import { UpstreamServer } from '../support/upstream.ts';

tidy();
const opened: (Opened | UpstreamServer)[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const sha256 = (bytes: Iterable<Buffer>) => {
  const hash = createHash('sha256');
  for (const piece of bytes) hash.update(piece);
  return hash.digest('hex');
};

/** Random, so that no piece can stand for another; cut as differently as hosts cut. */
function randomPieces(bytes: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let left = bytes, turn = 0; left > 0; turn++) {
    const size = Math.min(left, [17, 65_536, 300_000, 1_000_003][turn % 4] ?? 1);
    pieces.push(randomBytes(size));
    left -= size;
  }
  return pieces;
}

async function send(pieces: readonly Buffer[], outgoing: ServerResponse, isAll = true): Promise<void> {
  for (const piece of pieces) if (!outgoing.write(piece)) await once(outgoing, 'drain');
  if (isAll) outgoing.end();
}

async function through(
  isSecure: boolean,
  answer: UpstreamServer['answer'],
  responseBytes = 1024 ** 3,
): Promise<() => Promise<IncomingMessage>> {
  const host = await new UpstreamServer(isSecure, answer).start();
  const token = newToken();
  const endpoint = endpointOf({
    scheme: isSecure ? 'https' : 'http',
    host: 'host.test',
    port: 443,
    methods: ['GET'],
    allowPrivate: true,
  });
  const limits = { requestBytes: 1024, responseBytes, timeMs: 60_000, concurrent: 8 };
  const brief = briefOf(token, { endpoints: [endpoint], limits });
  const broker = await openBroker(brief, { pins: pinsTo(host.port, ['host.test']) });
  opened.push(broker, host);
  return async () => {
    const asked = request({
      socketPath: broker.socket,
      path: '/api/anthropic/v1/messages',
      headers: { authorization: `Bearer ${token}` },
    });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    return response;
  };
}

/** As a run that has other things to do now and then: the host has to wait, and everything on the way fills up. */
async function readInFits(response: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  let turn = 0;
  for await (const piece of response) {
    hash.update(piece as Buffer);
    if (++turn % 40 === 0) await sleep(5);
  }
  return hash.digest('hex');
}

describe.each([false, true])('SK-16 a large answer (TLS: %s)', isSecure => {
  test('arrives whole, two at once, to a run that reads in fits', async () => {
    const bodies = [randomPieces(24 * 1024 ** 2), randomPieces(24 * 1024 ** 2)];
    let asked = 0;
    const ask = await through(isSecure, (_request, outgoing) => send(bodies[asked++] ?? [], outgoing));
    const first = await ask();
    const second = await ask();
    expect(await Promise.all([readInFits(first), readInFits(second)])).toEqual(bodies.map(sha256));
  });

  test('does not bring the key back, wherever in it the key is', async () => {
    const filler = (bytes: number) => Buffer.alloc(bytes, '.');
    const sizes = [1, 16_383, 65_530, 262_130, 262_144, 300_000];
    const pieces = sizes.flatMap(size => [filler(size), Buffer.from(KEY.slice(0, 9)), Buffer.from(KEY.slice(9))]);
    const ask = await through(isSecure, (_request, outgoing) => send(pieces, outgoing));
    const body = Buffer.concat(await (await ask()).toArray()).toString('latin1');
    expect(body).toBe(sizes.map(size => '.'.repeat(size) + '*'.repeat(KEY.length)).join(''));
  });

  test('that breaks off, or is larger than what is passed on, does not look whole', async () => {
    const half = randomBytes(100_000);
    const whole = async (ask: () => Promise<IncomingMessage>) => (await ask()).toArray();
    const broken = await through(isSecure, (_request, outgoing) => {
      outgoing.write(half, () => setTimeout(() => outgoing.destroy(), 50));
    });
    await expect(whole(broken)).rejects.toThrow(/aborted|hang up/);
    const tooLarge = async (outgoing: ServerResponse) => {
      await send([half], outgoing, false);
      await sleep(50); // of what comes at once nothing would be passed on
      await send([half], outgoing);
    };
    const large = await through(isSecure, (_request, outgoing) => tooLarge(outgoing), 150_000);
    await expect(whole(large)).rejects.toThrow(/aborted|hang up/);
  });
});

test('a host that drips into a run that does not read has to wait, long before its bytes are many', async () => {
  const from = { isPaused: false, pause: () => (from.isPaused = true), resume: () => (from.isPaused = false) };
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const passage = new Passage(outgoing, from as unknown as HostConnection, 200, [], new Scrubber([]).cleaner());
  let [given, done] = [0, 0];
  while (!from.isPaused && given < 100_000) {
    given++;
    passage.pass({ bytes: Buffer.from('x'), done: () => void done++ }, false);
  }
  expect(given).toBeLessThan(2000);
  outgoing.assignSocket(new PassThrough().resume() as unknown as Socket);
  await expect.poll(() => [done, from.isPaused]).toEqual([given, false]);
});
