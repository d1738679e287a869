import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Unchunker } from '../../../src/broker/host/chunks.ts';
import { cutAt } from '../../support/pieces.ts';

/** As a connection does it: what is kept lies in front, and each read comes behind it. */
function decode(pieces: readonly Buffer[]): { body: Buffer; isOver: boolean; left: number } {
  const chunks = new Unchunker();
  const room = Buffer.alloc(pieces.reduce((sum, { length }) => sum + length, 0));
  let [end, left] = [0, 0];
  for (const piece of pieces) {
    piece.copy(room, end);
    const { out, rest } = chunks.read(room, end, end + piece.length, end);
    left += end + piece.length - rest;
    end = out;
  }
  return { body: Buffer.from(room.subarray(0, end)), isOver: chunks.isOver, left };
}

const word = fc.stringMatching(/^[ -~]{0,20}$/);
const chunk = fc.record({
  data: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  zeros: fc.nat({ max: 30 }),
  aside: fc.option(word),
});

describe('an answer in chunks', () => {
  test('is put together again, however it is cut and whatever is said between', () => {
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 8 }),
        fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), word), { maxLength: 3 }),
        fc.uint8Array({ maxLength: 20 }),
        fc.array(fc.nat({ max: 3000 }), { maxLength: 12 }),
        (parts, trailers, after, cuts) => {
          const said = parts.flatMap(({ data, zeros, aside }) => [
            Buffer.from(`${'0'.repeat(zeros)}${data.length.toString(16)}${aside === null ? '' : `;${aside}`}\r\n`),
            Buffer.from(data),
            Buffer.from('\r\n'),
          ]);
          const end = `0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
          const whole = Buffer.concat([...said, Buffer.from(end), Buffer.from(after)]);
          expect(decode(cutAt(whole, cuts))).toEqual({
            body: Buffer.concat(parts.map(({ data }) => data)),
            isOver: true,
            left: after.length,
          });
        },
      ),
    );
  });

  test('may have sizes of a fixed width in every one of its chunks', () => {
    const whole = `${'0000000000000001\r\nx\r\n'.repeat(20_000)}0000000000000000\r\n\r\n`;
    expect(decode([Buffer.from(whole)])).toMatchObject({ isOver: true, left: 0, body: { length: 20_000 } });
  });

  test('is not over before its last line', () => {
    const whole = '3;a=b\r\nabc\r\n0\r\nx: y\r\n\r\n';
    for (let length = 0; length < whole.length; length++)
      expect(decode([Buffer.from(whole.slice(0, length))]).isOver).toBe(false);
    expect(decode([Buffer.from(whole)])).toMatchObject({ isOver: true, left: 0 });
  });

  test.each([
    ['no size', '\r\nabc\r\n0\r\n\r\n'],
    ['a size in other digits', '0x3\r\nabc\r\n0\r\n\r\n'],
    ['a sign', '-3\r\nabc\r\n0\r\n\r\n'],
    ['a space before the size', ' 3\r\nabc\r\n0\r\n\r\n'],
    ['a space behind it', '3 \r\nabc\r\n0\r\n\r\n'],
    ['a line that ends without CR', '3\nabc\r\n0\r\n\r\n'],
    ['CR alone', '3\rabc\r\n0\r\n\r\n'],
    ['a chunk that is longer than it says', '3\r\nabcd\r\n0\r\n\r\n'],
    ['a chunk that ends otherwise', '3\r\nabcXX0\r\n\r\n'],
    ['a size that ends otherwise', '3\rXabc\r\n0\r\n\r\n'],
    ['an end that is none', '0\r\n\rX'],
    ['a chunk that ends without CR', '3\r\nabc\n0\r\n\r\n'],
    ['a size that no number holds', `${'f'.repeat(14)}\r\n`],
    ['a size one more than a number holds', '0020000000000000\r\n'],
    ['zeros without end', '0'.repeat(17_000)],
    ['zeros without end, a few in each chunk', `${'0'.repeat(500)}1\r\nx\r\n`.repeat(40)],
    ['LF in what is said aside', '3;a\nb\r\nabc\r\n0\r\n\r\n'],
    ['LF in a trailer', '0\r\na: b\nc: d\r\n\r\n'],
    ['too much said aside', `3;${'a'.repeat(17_000)}\r\nabc\r\n0\r\n\r\n`],
    ['too many trailers', `0\r\n${'a: b\r\n'.repeat(5000)}\r\n`],
  ])('with %s is none', (_what, text) => {
    expect(() => decode([Buffer.from(text)])).toThrow(/chunk/);
    expect(() => decode(Array.from(Buffer.from(text), byte => Buffer.from([byte])))).toThrow(/chunk/);
  });
});
