import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkArguments, checkDepth, parseArguments } from '../../src/agent/arguments.ts';
import type { JsonObject, JsonValue } from '../../src/base/index.ts';

const schema: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', enum: ['git', 'word-count'] },
    count: { type: 'integer' },
    share: { type: 'number' },
    all: { type: 'boolean' },
    words: { type: 'array', items: { type: 'string' } },
    input: { type: 'object' },
  },
  required: ['name'],
  additionalProperties: false,
};

const codeOf = (args: JsonValue | undefined): string | null => {
  try {
    checkArguments(schema, args);
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
};

describe('arguments', () => {
  test('what fits is taken as it is', () => {
    const args = { name: 'git', count: 3, share: 0.5, all: true, words: ['a'], input: { any: [1] } };
    expect(checkArguments(schema, args)).toBe(args);
  });

  test.each<[string, JsonValue | undefined]>([
    ['nothing', undefined],
    ['a list', []],
    ['text', 'name'],
    ['a number for text', { name: 1 }],
    ['half an integer', { name: 'git', count: 1.5 }],
    ['text for a number', { name: 'git', share: '1' }],
    ['a number in a list of words', { name: 'git', words: ['a', 1] }],
    ['a list for an object', { name: 'git', input: [] }],
    ['an argument that there is not', { name: 'git', nmae: 'git' }],
    ['a name of every object', { name: 'git', constructor: 'x' }],
    ['the prototype', JSON.parse('{"name":"git","__proto__":{"x":1}}') as JsonValue],
  ])('%s is refused', (_what, args) => {
    expect(codeOf(args)).toBe('INVALID_CALL');
  });

  test('a name that there is not is told with the one that was meant', () => {
    expect(() => checkArguments(schema, { name: 'word-cuont' })).toThrow(
      expect.objectContaining({
        code: 'NOT_FOUND',
        message: 'there is no skill "word-cuont"',
        hint: 'Did you mean "word-count"?',
      }),
    );
  });

  test('no JSON makes it fail in another way', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect([null, 'INVALID_CALL', 'NOT_FOUND']).toContain(codeOf(value as JsonValue));
      }),
    );
  });

  test('depth is told without using the stack', () => {
    let deep: unknown[] = [];
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(() => checkDepth(deep)).toThrow(expect.objectContaining({ code: 'INVALID_CALL' }));
    expect(codeOf({ name: 'git', input: { deep } as JsonObject })).toBe('INVALID_CALL');
  });

  test.each(['', '{', '[]', '"x"', '1', 'null'])('%j as a model wrote it', text => {
    if (text === '') expect(parseArguments(text)).toEqual({});
    else expect(() => parseArguments(text)).toThrow(expect.objectContaining({ code: 'INVALID_CALL' }));
  });
});
