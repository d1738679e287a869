import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/base/index.ts';
import type { Example } from '../../src/skilltest/index.ts';
import { contendersFor, judgeAnswer, judgeExample, judgeTrigger } from '../../src/skilltest/index.ts';
import { difference } from '../../src/skilltest/subset.ts';

const json = fc.jsonValue({ noUnicodeString: false }).map(value => JSON.parse(JSON.stringify(value)) as JsonValue);

describe('an expected output', () => {
  test.each<[JsonValue, JsonValue, string | null]>([
    [{ a: 1 }, { a: 1, b: 2 }, null],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2, d: 3 }] } }, null],
    [{ a: 1 }, { a: 2 }, 'output.a is 2, not 1'],
    [{ a: null }, {}, 'output.a is missing'],
    [{ toString: 1 }, {}, 'output.toString is missing'],
    [[1, 2], [1], 'output has 1 items, not 2'],
    [[1], { 0: 1 }, 'output is {"0":1}, not [1]'],
    [{}, [], 'output is [], not {}'],
    ['a', 'ab', 'output is "ab", not "a"'],
  ])('%j in %j', (expected, actual, wrong) => {
    expect(difference(expected, actual)).toBe(wrong);
  });

  test('fits itself, and itself with more beside it', () => {
    fc.assert(fc.property(json, value => difference(value, value) === null));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), json, (fields, more) => {
        const wider: JsonObject = { ...fields, [`more${Object.keys(fields).join()}`]: more };
        return difference(fields, wider) === null && difference(wider, fields) !== null;
      }),
    );
  });
});

describe('an example', () => {
  const expecting = (expect: Partial<Example['expect']>): Example => ({
    target: null,
    input: undefined,
    args: [],
    params: {},
    expect: { status: 'success', exitCode: null, output: undefined, ...expect },
  });
  test.each([
    [{}, { status: 'success', exitCode: 0, output: null }, null],
    [{}, { status: 'failed', exitCode: 1, output: null }, 'it ended as failed, not success'],
    [{ status: 'failed', exitCode: 3 }, { status: 'failed', exitCode: 1, output: null }, 'its exit code is 1, not 3'],
    [{ output: { n: 2 } }, { status: 'success', exitCode: 0, output: { n: 3 } }, 'output.n is 3, not 2'],
  ])('%j with %j', (expected, happened, wrong) => {
    expect(judgeExample(expecting(expected), happened)).toBe(wrong);
  });
});

describe('a query', () => {
  const order = [{ name: 'b' }, { name: 'a' }];
  test.each([
    ['b', true, null],
    ['a', true, 'it ranks 2; b is first'],
    ['c', true, 'it is not found; b is first'],
    ['b', false, 'it ranks first, and should not'],
    ['a', false, null],
  ])('for %s, %s', (own, shouldTrigger, wrong) => {
    expect(judgeTrigger({ query: 'q', shouldTrigger }, own, order)).toBe(wrong);
  });

  test('that finds nothing says so', () => {
    expect(judgeTrigger({ query: 'q', shouldTrigger: true }, 'a', [])).toContain('no word');
  });

  test('is not won by a namesake, nor by what is always shown', () => {
    const one = (name: string, folder: string, always = false) => ({
      name,
      description: '',
      folder,
      offer: { always },
    });
    const own = one('mine', '/here');
    const other = one('other', '/o');
    expect(contendersFor(own, [one('Mine', '/there'), other, one('loud', '/l', true)])).toEqual([other, own]);
  });
});

describe('an answer', () => {
  const must = (...mustInclude: string[]) => ({ id: '1', prompt: 'p', mustInclude });
  test('holds all texts, whatever its case and lines', () => {
    expect(judgeAnswer(must('six words', 'Done'), 'It has SIX\n  words. done')).toBe(null);
    expect(judgeAnswer(must('six', 'seven\u001b'), 'six')).toBe('the answer does not include "seven<U+001B>"');
  });
});
