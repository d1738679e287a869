import { describe, expect, test } from 'vitest';
import { type JsonObject, SkillboxError } from '../../../src/base/index.ts';
import { checkArguments, coerceArguments } from '../../../src/dialects/gibberish/arguments.ts';
import { interpolate } from '../../../src/dialects/gibberish/interpolate.ts';
import type { Tool } from '../../../src/skill/index.ts';
import { toolOf } from './tool.ts';

const ALL = toolOf('a -- {{s}} {{i}} {{n}} {{b}} {{l}}', [
  's | string | no | S',
  'i | integer | no | I',
  'n | number | no | N',
  'b | boolean | no | B',
  'l | array | no | L',
]);
const QUERY = toolOf('a -- {{query}} {{limit}}', ['query | string | yes | Q', 'limit | integer | yes | L']);

function refusal(act: () => unknown): { code: string; message: string; reasons: unknown[] } {
  try {
    act();
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    const problems = error.details.problems;
    const reasons = Array.isArray(problems) ? problems.map((problem: { reason: string }) => problem.reason) : [];
    return { code: error.code, message: error.message, reasons };
  }
  throw new Error('nothing was refused');
}

describe('GB-05 checked arguments', () => {
  test.each<[string, JsonObject]>([
    ['string', { s: 5 }],
    ['string from a list', { s: ['a'] }],
    ['integer', { i: 1.5 }],
    ['integer from text', { i: '5' }],
    ['integer beyond 2^53', { i: 2 ** 53 }],
    ['number', { n: '1' }],
    ['number that JSON cannot hold', { n: Number.NaN }],
    ['infinite number', { n: Number.POSITIVE_INFINITY }],
    ['boolean', { b: 'true' }],
    ['boolean from a number', { b: 1 }],
    ['array', { l: 'a' }],
    ['array of strings', { l: ['a', 1] }],
    ['array of arrays', { l: [['a']] }],
    ['object', { s: { a: 1 } }],
  ])('a wrong type is refused: %s', (_name, args) => {
    expect(refusal(() => interpolate(ALL, args))).toMatchObject({ code: 'INVALID_CALL', reasons: ['wrong-type'] });
  });

  test('right types are taken as they are', () => {
    const args = { s: '', i: -3, n: 1.5, b: false, l: [] };
    expect(Object.fromEntries(checkArguments(ALL, args))).toEqual(args);
    expect(interpolate(ALL, { s: '', i: -0, n: 1e21, b: false, l: ['x'] }).argv).toEqual([
      'a',
      '--',
      '',
      '0',
      '1e+21',
      'false',
      'x',
    ]);
  });

  test('null is absent', () => {
    expect([...checkArguments(ALL, { s: null, i: null, n: null, b: null, l: null })]).toEqual([]);
    expect(interpolate(ALL, { s: null }).argv).toEqual(['a', '--']);
  });

  test('GB-16 a missing parameter is an error of its own; all problems come at once', () => {
    expect(refusal(() => interpolate(QUERY, { query: null, limit: 'x', more: 1 }))).toEqual({
      code: 'INVALID_CALL',
      message:
        'tool "try_it": "limit" must be a whole number, not "x"; "more" is not a parameter; it takes query, limit; "query" (string) is missing',
      reasons: ['wrong-type', 'unknown-argument', 'missing-parameter'],
    });
  });

  test('a required parameter with a default is still required', () => {
    const tool = toolOf('a -n {{n:5}}', ['n | integer | yes | N (default: 7)']);
    expect(refusal(() => interpolate(tool, {})).reasons).toEqual(['missing-parameter']);
  });

  test('an unknown argument is refused, with the name that was meant', () => {
    expect(refusal(() => interpolate(ALL, { S1: 'x' })).reasons).toEqual(['unknown-argument']);
    expect(refusal(() => interpolate(QUERY, { quey: 'x', limit: 1, query: '' })).message).toContain(
      'did you mean "query"?',
    );
    expect(refusal(() => interpolate(toolOf('a'), { x: null })).message).toContain('it takes none');
  });

  test('a NUL ends an argument early, so it is refused anywhere', () => {
    expect(refusal(() => interpolate(ALL, { s: 'a\0b' })).reasons).toEqual(['nul-byte']);
    expect(refusal(() => interpolate(ALL, { l: ['a', '\0'] })).reasons).toEqual(['nul-byte']);
  });

  test('X-04 names of object members are names like any other', () => {
    const tool = toolOf('a -- {{constructor}} {{__proto__}} {{toString}}', [
      'constructor | string | no | C',
      '__proto__ | string | no | P',
      'toString | string | no | T',
    ]);
    expect(interpolate(tool, {}).argv).toEqual(['a', '--']);
    expect(interpolate(tool, JSON.parse('{"__proto__":"p","constructor":"c"}')).argv).toEqual(['a', '--', 'c', 'p']);
    expect(refusal(() => interpolate(ALL, JSON.parse('{"__proto__":{"s":"x"}}'))).reasons).toEqual([
      'unknown-argument',
    ]);
    const coerced = coerceArguments(tool, JSON.parse('{"__proto__":"p"}'));
    expect([Object.keys(coerced), interpolate(tool, coerced).argv]).toEqual([['__proto__'], ['a', '--', 'p']]);
    expect(({} as Record<string, unknown>).s).toBeUndefined();
  });

  test('a million unknown names are a short error', () => {
    const args = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`x${index}`, 1]));
    expect(refusal(() => interpolate(ALL, args)).message.length).toBeLessThan(2000);
  });
});

describe('GB-05 text from a command line', () => {
  test.each<[string, string | string[], unknown]>([
    ['s', '5', '5'],
    ['s', '', ''],
    ['i', '-5', -5],
    ['i', '+5', 5],
    ['n', '1.5e3', 1500],
    ['n', '.5', 0.5],
    ['n', '-1', -1],
    ['b', 'true', true],
    ['b', 'No', false],
    ['b', '1', true],
    ['l', 'a b,c', ['a b,c']],
    ['l', '["a","b c"]', ['a', 'b c']],
    ['l', '[]', []],
    ['l', '[1]', ['[1]']],
    ['l', '[a-z]*', ['[a-z]*']],
    ['l', ['a', '["b"]'], ['a', '["b"]']],
    ['s', ['one'], 'one'],
  ])('%s=%j', (name, text, expected) => {
    const values = coerceArguments(ALL, { [name]: text });
    expect(values[name]).toEqual(expected);
    expect(() => checkArguments(ALL, values)).not.toThrow();
  });

  test.each<[Tool, string, string | string[], string]>([
    [ALL, 'i', '1.5', 'wrong-type'],
    [ALL, 'i', '', 'wrong-type'],
    [ALL, 'i', ' 5', 'wrong-type'],
    [ALL, 'i', '0x10', 'wrong-type'],
    [ALL, 'i', '99999999999999999999', 'wrong-type'],
    [ALL, 'n', 'NaN', 'wrong-type'],
    [ALL, 'n', '1e999', 'wrong-type'],
    [ALL, 'n', 'Infinity', 'wrong-type'],
    [ALL, 'b', 'maybe', 'wrong-type'],
    [ALL, 's', ['a', 'b'], 'wrong-type'],
    [ALL, 'toString', 'x', 'unknown-argument'],
  ])('is refused', (tool, name, text, reason) => {
    expect(refusal(() => coerceArguments(tool, { [name]: text }))).toMatchObject({
      code: 'INVALID_CALL',
      reasons: [reason],
    });
  });
});
