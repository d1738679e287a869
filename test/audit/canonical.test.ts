import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/audit/index.ts';
import type { JsonValue } from '../../src/base/index.ts';

const text = fc.string({ unit: 'binary' });
const { value } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    text,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
}));

const shuffled = (json: JsonValue): JsonValue => {
  if (Array.isArray(json)) return json.map(shuffled);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json)
      .reverse()
      .map(([name, inner]) => [name, shuffled(inner)]),
  );
};

describe('canonical JSON', () => {
  test.each<[JsonValue, string]>([
    [{ b: 1, a: [true, null, -0] }, '{"a":[true,null,0],"b":1}'],
    // RFC 8785, 3.2.3: by UTF-16 code units, so a character beyond the first plane comes before U+FB33.
    [
      { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 },
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
    ],
    ['\u0000\u001f"\\/\u007f\u2028', '"\\u0000\\u001f\\"\\\\/\u007f\u2028"'],
    ['a\ud800b', '"a\ufffdb"'],
    [{ ['__proto__']: 1 }, '{"__proto__":1}'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('%j', (given, written) => expect(canonicalJson(given)).toBe(written));

  test.each([0.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('%d is refused: only whole numbers', number => {
    expect(() => canonicalJson({ number })).toThrow(/whole numbers/);
  });

  test('it is JSON with the same value, and equal values have equal text', () => {
    fc.assert(
      fc.property(value, json => {
        const written = canonicalJson(json);
        expect(canonicalJson(JSON.parse(written) as JsonValue)).toBe(written);
        expect(canonicalJson(shuffled(json))).toBe(written);
      }),
    );
  });
});
