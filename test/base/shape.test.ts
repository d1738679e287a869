import { describe, expect, it } from 'vitest';
import { shape } from '../../src/base/index.ts';

const { count, fields, flag, id, listOf, mapOf, number, oneOf, optional, orNull, pageOf, text, time, word } = shape;

describe('a shape', () => {
  it('says where a value is not as it should be', () => {
    const each = fields<{ a: string; b: { c: number[] } | null; d?: boolean | undefined }>({
      a: text,
      b: orNull(fields<{ c: number[] }>({ c: listOf(count) })),
      d: optional(flag),
    });
    const where = (value: unknown) => pageOf(each)({ items: [{ a: '', b: null }, value], next: null }, '');
    expect(where({ a: 'x', b: { c: [1, 2] }, d: true, more: 1 })).toBe(null);
    expect(where({ a: 'x', b: { c: [1, -2] } })).toBe('items[1].b.c[1]');
    expect(where({ a: 'x', b: { c: { length: 0 } } })).toBe('items[1].b.c');
    expect(where({ a: 'x', b: [] })).toBe('items[1].b');
    expect(where({ a: 'x', b: null, d: null })).toBe('items[1].d');
    expect(where(null)).toBe('items[1]');
    expect(where({ b: null })).toBe('items[1].a');
    expect(where(Object.create({ a: 'inherited', b: null }))).toBe('items[1].a');
    expect(mapOf(number)({ a: 1, b: '2' }, 'm')).toBe('m[b]');
  });

  it.each([
    [word, ['', 'a-b', 'custom/ключ', '1.0.0-rc.1+2'], ['a b', 'a\nb', '\u001b[31m', 'a\u202eb', 'a\u200bb', 7, null]],
    [id, ['01k2', 'a_B-9'], ['', '../x', 'a/b', 'a.b', 'a'.repeat(65), 7]],
    [time, ['2026-01-01T00:00:00.000Z'], ['', 'tomorrow', 7, null, '999999-01-01T00:00:00Z']],
    [count, [0, 2 ** 53 - 1], [-1, 0.5, 2 ** 53, Number.NaN, '1', null]],
    [number, [-1, 0.5], [Number.NaN, Number.POSITIVE_INFINITY, '1', null]],
    [oneOf(['a', 'b']), ['a'], ['c', '', '__proto__', null, ['a']]],
  ])('takes what is right, and nothing else (%#)', (one, right, wrong) => {
    for (const value of right) expect([value, one(value, 'x')]).toEqual([value, null]);
    for (const value of wrong) expect([value, one(value, 'x')]).toEqual([value, 'x']);
  });
});
