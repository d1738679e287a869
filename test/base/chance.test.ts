import { expect, test } from 'vitest';
import { chance } from '../../src/base/index.ts';

test('chance: as many bytes as were asked for, and never the same', () => {
  for (const bytes of [0, 1, 6, 300, 65_536]) expect(chance(bytes).length).toBe(bytes);
  const drawn = new Set(Array.from({ length: 1000 }, () => chance(8).toString('hex')));
  expect(drawn.size).toBe(1000);
});
