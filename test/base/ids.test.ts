import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isId, newId } from '../../src/base/index.ts';

test('an id is one, sorts by its time, and comes once', () => {
  const times = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(times, times, (one, other) => {
      const [first, second] = [newId(one), newId(other)];
      expect([isId(first), isId(second)]).toEqual([true, true]);
      if (one < other) expect(first < second).toBe(true);
      if (one === other) expect(first.slice(0, 10)).toBe(second.slice(0, 10));
    }),
  );
  expect(new Set(Array.from({ length: 1000 }, () => newId(1_700_000_000_000))).size).toBe(1000);
});

test('its chance is spread over every letter of every place', () => {
  const seen = Array.from({ length: 16 }, () => new Set<string>());
  for (let i = 0; i < 2000; i++) {
    const chance = newId(0).slice(10);
    for (const [at, letters] of seen.entries()) letters.add(chance.charAt(at));
  }
  expect(seen.map(letters => letters.size)).toEqual(Array.from({ length: 16 }, () => 32));
});

test('the time of one is what it was before', () => {
  expect(newId(1_469_918_176_385).slice(0, 10)).toBe('01aryz6s41');
});
