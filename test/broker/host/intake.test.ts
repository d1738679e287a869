import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Intake } from '../../../src/broker/host/intake.ts';
import { type Piece, Rooms } from '../../../src/broker/host/rooms.ts';

const byteAt = (place: number) => (place * 31 + (place >> 8)) & 255;

/** Bytes that say where they are from. */
function numbered(from: number, length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => byteAt(from + at)));
}

/** Lets the connection read: the bytes of an answer behind some that are not, as much as there is room for. */
function read(intake: Intake, came: number, noise: number, length: number): number {
  const { buffer } = intake.reading;
  const room = typeof buffer === 'function' ? buffer() : buffer;
  const skipped = Math.min(noise, room.length - 1);
  const size = Math.min(length, room.length - skipped);
  room.fill(255, 0, skipped);
  for (let at = 0; at < size; at++) room[skipped + at] = byteAt(came + at);
  intake.look = (bytes, from, to) => {
    bytes.copyWithin(intake.place, from + skipped, to);
    intake.keep(intake.place + to - from - skipped);
    return true;
  };
  intake.reading.callback(skipped + size, room as Buffer);
  return size;
}

const size = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 300_000 }));
const step = fc.oneof(
  fc.tuple(fc.nat({ max: 40 }), size).map(([noise, length]) => ({ kind: 'comes', noise, length }) as const),
  fc.constant({ kind: 'lent' } as const),
  fc.constant({ kind: 'arrived' } as const),
);

describe('where a connection reads to', () => {
  test('what is lent comes as it came, and stays so until it has arrived, whatever comes meanwhile', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), step), { maxLength: 60 }), steps => {
        const rooms = new Rooms();
        const answers = [0, 1].map(() => ({ intake: new Intake(rooms), came: 0, lent: 0 }));
        const underWay: { piece: Piece; from: number }[] = [];
        const arrive = () => {
          const first = underWay.shift();
          if (first === undefined) return;
          expect(first.piece.bytes.equals(numbered(first.from, first.piece.bytes.length))).toBe(true);
          first.piece.done();
        };
        const lend = (answer: { intake: Intake; came: number; lent: number }) => {
          const piece = answer.intake.lend();
          underWay.push({ piece, from: answer.lent });
          answer.lent += piece.bytes.length;
          expect(answer.lent).toBe(answer.came);
        };
        for (const [which, word] of steps) {
          const answer = answers[which] ?? expect.unreachable();
          if (word.kind === 'arrived') arrive();
          else if (word.kind === 'lent') lend(answer);
          else {
            answer.came += read(answer.intake, answer.came, word.noise, word.length);
            // As a connection does it: there is always room for the next.
            if (answer.intake.isFull) lend(answer);
          }
        }
        for (const answer of answers) lend(answer);
        while (underWay.length > 0) arrive();
      }),
      { numRuns: 200 },
    );
  });

  test('a long answer takes no more memory than what is on its way', () => {
    const intake = new Intake(new Rooms());
    const memory = new Set<ArrayBufferLike>();
    const underWay: Piece[] = [];
    for (let turn = 0, came = 0; turn < 400; turn++) {
      came += read(intake, came, 0, 64 * 1024);
      const piece = intake.lend();
      memory.add(piece.bytes.buffer);
      underWay.push(piece);
      if (underWay.length > 4) underWay.shift()?.done();
    }
    expect(memory.size).toBeLessThan(5);
  });

  test('small answers, one after the other, lie in the same place', () => {
    const intake = new Intake(new Rooms());
    const places = new Set<number>();
    for (let turn = 0; turn < 100; turn++) {
      read(intake, 0, 100, 300);
      const { bytes, done } = intake.lend();
      places.add(bytes.byteOffset);
      done();
    }
    expect([...places]).toEqual([0]);
  });

  test('a room goes back once, with the last that was lent of it', () => {
    const rooms = new Rooms();
    const intake = new Intake(rooms);
    read(intake, 0, 0, 100);
    const piece = intake.lend();
    intake.close();
    const { bytes: other } = rooms.take();
    expect(other.buffer).not.toBe(piece.bytes.buffer);
    piece.done();
    expect(rooms.take().bytes.buffer).toBe(piece.bytes.buffer);
    expect(rooms.take().bytes.buffer).not.toBe(piece.bytes.buffer);
  });
});
