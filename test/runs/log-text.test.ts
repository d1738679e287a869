import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wholeCharacters } from '../../src/runs/characters.ts';
import { MAX_PIECE_BYTES, piecesOf, readFrames, writeFrames } from '../../src/store/log-frames.ts';

type Stream = 'stdout' | 'stderr';

/** The way of what a run prints: chunks as pipes give them, through the writer, into a log. */
function logOf(chunks: readonly [Stream, Buffer][]): Buffer {
  const frames: Buffer[] = [];
  const whole = wholeCharacters((stream, bytes) => void frames.push(writeFrames(stream, bytes, 1)));
  for (const [stream, chunk] of chunks) whole.write(stream, chunk);
  whole.end();
  return Buffer.concat(frames);
}

/** As `logs` and `follow` read it: each piece decoded by itself. */
function textOf(log: Buffer, from = 0): Record<Stream, string> {
  const text = { stdout: '', stderr: '' };
  for (const { stream, bytes } of readFrames(log.subarray(from), from).entries) text[stream] += bytes.toString('utf8');
  return text;
}

/** Both streams in pieces of these sizes, taking turns; what is left comes last. */
function cut(streams: Record<Stream, Buffer>, plan: readonly (readonly [Stream, number])[]): [Stream, Buffer][] {
  const rest = { ...streams };
  const take = ([stream, size]: readonly [Stream, number]): [Stream, Buffer] => {
    const piece = rest[stream].subarray(0, size);
    rest[stream] = rest[stream].subarray(size);
    return [stream, piece];
  };
  return [...plan, ['stdout', Infinity] as const, ['stderr', Infinity] as const].map(take);
}

const stream = fc.constantFrom<Stream>('stdout', 'stderr');
/** As small as a byte, and about as large as a pipe gives and a log takes. */
const size = fc.oneof(fc.nat(9), fc.integer({ min: MAX_PIECE_BYTES - 5, max: MAX_PIECE_BYTES + 5 }));
const plan = fc.array(fc.tuple(stream, size), { maxLength: 12 });
const text = fc
  .tuple(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'é', '€', '😀'), fc.constantFrom(0, 1, 70_000))
  .map(([some, unit, times]) => some + unit.repeat(times) + some);

test('SB-10 any split of any text gives the same text', () => {
  fc.assert(
    fc.property(text, text, plan, (one, two, sizes) => {
      const read = textOf(logOf(cut({ stdout: Buffer.from(one), stderr: Buffer.from(two) }, sizes)));
      expect(read.stdout === one && read.stderr === two).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('SB-10 any split of any bytes gives the text that they are in one piece', () => {
  // Bytes that begin characters, go on with them, or are neither.
  const byte = fc.constantFrom(0x41, 0x80, 0xbf, 0xc3, 0xe0, 0xe2, 0x82, 0xed, 0xa0, 0xf0, 0x9f, 0xf5, 0xf8, 0xff);
  const bytes = fc.array(byte, { maxLength: 40 }).map(all => Buffer.from(all));
  fc.assert(
    fc.property(bytes, bytes, plan, (stdout, stderr, sizes) => {
      const read = textOf(logOf(cut({ stdout, stderr }, sizes)));
      expect(read).toEqual({ stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') });
    }),
    { numRuns: 1000 },
  );
});

test('SB-10 whoever comes back with any offset goes on with whole characters', () => {
  fc.assert(
    fc.property(text, text, plan, fc.nat(), (one, two, sizes, some) => {
      const log = logOf(cut({ stdout: Buffer.from(one), stderr: Buffer.from(two) }, sizes));
      const { entries } = readFrames(log, 0);
      const offset = entries[some % Math.max(entries.length, 1)]?.next ?? 0;
      const [before, after] = [textOf(log.subarray(0, offset)), textOf(log, offset)];
      expect(before.stdout + after.stdout === one && before.stderr + after.stderr === two).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('pieces are as long as they may be, and lose nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.integer({ min: 4, max: 12 }), (array, max) => {
      const bytes = Buffer.from(array);
      const pieces = [...piecesOf(bytes, max)];
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
      for (const piece of pieces.slice(0, -1)) expect([0, 1, 2, 3]).toContain(max - piece.length);
    }),
  );
});
