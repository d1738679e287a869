import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messagesOf } from '../../src/client/event-stream.ts';
import { all } from './clients.ts';

/** An answer that comes in these pieces. */
function inPieces(pieces: Iterable<Uint8Array>): Response {
  const source = pieces[Symbol.iterator]();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = source.next();
    if (done === true) controller.close();
    else controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull }));
}

function* cut(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const MiB = 1024 ** 2;

describe('a stream of events', () => {
  it('says the same however it is cut, and whatever ends its lines', async () => {
    const ending = fc.constantFrom('\n', '\r\n', '\r');
    const line = fc.constantFrom('data: ü€😀', 'data: a', 'data:b', 'data', 'id: 7', 'event: log', ': nothing', '', '');
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 20 }),
        ending,
        fc.integer({ min: 1, max: 9 }),
        async (lines, end, size) => {
          const bytes = Buffer.from([...lines, 'data: last', '', 'data: never whole'].join(end));
          const whole = await all(messagesOf(inPieces([bytes])));
          expect(await all(messagesOf(inPieces(cut(bytes, size))))).toEqual(whole);
          const last = whole.at(-1)?.data ?? '';
          // A carriage return at the end may be half of a line break: only what follows tells.
          expect(last.endsWith('last')).toBe(true);
        },
      ),
    );
  });

  it('a large event takes as long as it is large, and not as its square', { timeout: 60_000 }, async () => {
    const bytes = Buffer.from(`event: state\nid: 1\ndata: ${'x'.repeat(32 * MiB)}\n\n`);
    const begun = performance.now();
    const [message] = await all(messagesOf(inPieces(cut(bytes, 16_384))));
    expect(message?.data.length).toBe(32 * MiB);
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  it.each([
    ['a line', 'x'],
    ['its lines', 'data: x\n'],
  ])('an event without an end, by %s, does not fill the memory', { timeout: 60_000 }, async (_by, piece) => {
    let sent = 0;
    const bytes = Buffer.from(piece.repeat(MiB / piece.length));
    const endless = (function* () {
      for (; sent < 512 * MiB; sent += bytes.length) yield bytes;
    })();
    await expect(all(messagesOf(inPieces(endless)))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: 'an event has no end',
    });
    expect(sent).toBeLessThan(100 * MiB);
  });
});
