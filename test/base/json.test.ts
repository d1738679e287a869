import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonValue, stableJson } from '../../src/base/index.ts';

test('stable JSON parses back to the same value and does not depend on the order of keys', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = stableJson(value as JsonValue);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
  expect(stableJson({ b: 1, a: [{ d: null, c: 'x' }] })).toBe('{"a":[{"c":"x","d":null}],"b":1}');
});
