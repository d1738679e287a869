import { type OnReadOpts, Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readingInto } from '../../src/broker/reading.ts';

const roomOf = ({ buffer }: OnReadOpts) => (typeof buffer === 'function' ? buffer() : buffer);

/** As a host's bytes come: some of them, or whoever reads takes what is there. */
const step = fc.oneof(
  fc.integer({ min: 1, max: 300_000 }).map(bytes => ({ kind: 'comes', bytes }) as const),
  fc.constant({ kind: 'taken' } as const),
);

test('what a connection holds while it waits is not read over', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const socket = new Socket();
      socket.pause();
      const reading = readingInto(() => socket);
      let [came, taken] = [0, 0];
      const take = () => {
        for (let piece = socket.read() as Buffer | null; piece !== null; piece = socket.read() as Buffer | null)
          for (const byte of piece) if (byte !== taken++ % 251) return expect.unreachable(`wrong at ${taken - 1}`);
      };
      for (const word of steps) {
        if (word.kind === 'taken') take();
        else {
          const room = roomOf(reading);
          const bytes = Math.min(word.bytes, room.length);
          expect(bytes).toBeGreaterThan(0);
          for (let at = 0; at < bytes; at++) room[at] = came++ % 251;
          reading.callback(bytes, room);
        }
      }
      take();
      expect(taken).toBe(came);
      socket.destroy();
    }),
    { numRuns: 100 },
  );
});

test('memory that was read from is read into again', async () => {
  const socket = new Socket();
  socket.on('data', () => undefined);
  await new Promise(resolve => setImmediate(resolve)); // it flows from the next turn on
  const reading = readingInto(() => socket);
  const rooms = new Set<ArrayBufferLike>();
  for (let turn = 0; turn < 100; turn++) {
    const room = roomOf(reading);
    rooms.add(room.buffer);
    expect(reading.callback(room.length, room)).toBe(true);
  }
  expect(rooms.size).toBe(1);
});
