import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Gathering, type Piece, Rooms } from '../../src/broker/rooms.ts';

const KIB = 1024;

/** Bytes that say where they are from. */
function numbered(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let at = 0; at < length; at++) bytes[at] = ((from + at) * 31 + ((from + at) >> 8)) & 255;
  return bytes;
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 16 * KIB - 2, max: 16 * KIB + 2 }),
  fc.integer({ min: 1, max: 700 * KIB }),
);
/** A chunk comes, what has come is passed on, or the oldest that is on its way has arrived. */
const step = fc.oneof(
  sizes.map(length => ({ kind: 'chunk', length }) as const),
  fc.constant({ kind: 'rest' } as const),
  fc.constant({ kind: 'arrived' } as const),
);

describe('what is gathered of answers', () => {
  test('comes out as it came, and stays so until it has arrived, whatever comes meanwhile', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), step), { maxLength: 60 }), steps => {
        const rooms = new Rooms();
        const answers = [0, 1].map(() => ({ gathering: new Gathering(rooms), came: 0, passed: 0 }));
        const underWay: { piece: Piece; expected: Buffer }[] = [];
        const arrive = () => {
          const first = underWay.shift();
          if (first === undefined) return;
          expect(first.piece.bytes.equals(first.expected)).toBe(true);
          first.piece.done();
        };
        for (const [which, word] of steps) {
          const answer = answers[which] ?? expect.unreachable();
          const pass = (piece: Piece | null) => {
            if (piece === null) return;
            underWay.push({ piece, expected: numbered(answer.passed, piece.bytes.length) });
            answer.passed += piece.bytes.length;
          };
          if (word.kind === 'arrived') arrive();
          else if (word.kind === 'rest') {
            pass(answer.gathering.rest());
            expect(answer.passed).toBe(answer.came);
          } else {
            const chunk = numbered(answer.came, word.length);
            answer.came += word.length;
            for (const piece of answer.gathering.add(chunk)) pass(piece);
          }
        }
        for (const answer of answers) {
          const rest = answer.gathering.rest();
          expect((rest?.bytes ?? Buffer.alloc(0)).equals(numbered(answer.passed, answer.came - answer.passed))).toBe(
            true,
          );
        }
        while (underWay.length > 0) arrive();
      }),
      { numRuns: 200 },
    );
  });

  test('takes no more memory for a long answer than for one that is on its way', () => {
    const rooms = new Rooms();
    const gathering = new Gathering(rooms);
    const memory = new Set<ArrayBufferLike>();
    for (let turn = 0; turn < 100; turn++) {
      const pieces = [...gathering.add(numbered(turn, 200 * KIB)), gathering.rest()].filter(piece => piece !== null);
      for (const { bytes, done } of pieces) {
        memory.add(bytes.buffer);
        done();
      }
    }
    expect(memory.size).toBeLessThan(4);
  });

  test('gives the memory of a large chunk back at once', () => {
    const chunk = numbered(0, 64 * KIB);
    new Gathering(new Rooms()).add(chunk);
    expect(chunk.buffer.byteLength).toBe(0);
  });

  test('a small piece is passed on in its own memory', () => {
    const gathering = new Gathering(new Rooms());
    const chunk = numbered(0, 200);
    expect(gathering.add(chunk)).toEqual([]);
    expect(gathering.rest()?.bytes).toBe(chunk);
    expect(gathering.rest()).toBeNull();
  });
});
