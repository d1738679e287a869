import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/base/index.ts';
import { depthOfValue, parseJson } from '../../src/runs/json-output.ts';

const parse = (text: string | Buffer) => parseJson(Buffer.from(text));

describe('output JSON', () => {
  test('SB-08 whatever JSON can write is read back', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        const text = JSON.stringify(value);
        const parsed = parse(text);
        expect('value' in parsed && JSON.stringify(parsed.value)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test('SB-08 anything else never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        const parsed = parseJson(Buffer.from(bytes));
        expect('problem' in parsed || 'value' in parsed).toBe(true);
      }),
    );
  });

  test.each([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"x":[', ']}]'],
  ])('SB-08 depth is bounded before a parser sees it: %s', (open, close) => {
    const levels = open.length === 7 ? 3 : 1;
    const nest = (times: number) =>
      `${open.repeat(times)}${levels === 3 || open === '{"a":' ? '1' : ''}${close.repeat(times)}`;
    expect(parse(nest(Math.floor(128 / levels)))).toHaveProperty('value');
    expect(parse(nest(Math.floor(128 / levels) + 1))).toHaveProperty('problem', expect.stringContaining('deeper'));
    expect(parse(open.repeat(1_000_000))).toHaveProperty('problem', expect.stringContaining('deeper'));
  });

  test('SB-08 brackets in strings are no depth', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('[', '{', '"', '\\', ']', 'a', '\\"'), { maxLength: 400 }), pieces => {
        const value = { text: pieces.join('') };
        expect(parse(JSON.stringify(value))).toEqual({ value, warnings: [] });
      }),
    );
  });

  test.each([
    '',
    ' \n\t',
    '\ufeff',
    'NaN',
    '{"a":NaN}',
    '[Infinity]',
    "{'a':1}",
    '{"a":1,}',
    '// x\n1',
    '1 2',
    'undefined',
  ])('SB-08 %j is no output', text => expect(parse(text)).toHaveProperty('problem'));

  test.each([
    ['a lone continuation byte', Buffer.from([0x22, 0x80, 0x22])],
    ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('\ufeff{"a":1}', 'utf16le')],
  ])('SB-08 %s is refused as what it is', (_name, bytes) => {
    expect(parse(bytes)).toEqual({ problem: 'it is not valid UTF-8' });
  });

  test('SB-08 a BOM is no part of the output, and U+FFFD may be', () => {
    expect(parse('\ufeff{"a":"\ufffd"}')).toEqual({ value: { a: '\ufffd' }, warnings: [] });
  });

  test('SB-08 a key named __proto__ is only a key', () => {
    const parsed = parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect('value' in parsed && Object.keys(Object(parsed.value))).toEqual(['__proto__', 'constructor']);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test.each(['9007199254740992', '-9007199254740993', '[123456789012345678901234567890]'])(
    'SB-08 %s loses digits, and that is said',
    text => expect(parse(text)).toHaveProperty('warnings', [expect.stringContaining('2^53')]),
  );

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '"9007199254740993"',
    '0.12345678901234567890',
    '1e20',
    '1234567890.1234567',
  ])('SB-08 %s is held', text => expect(parse(text)).toHaveProperty('warnings', []));

  test.each(['1e999', '-1e999', `[1${'0'.repeat(400)}]`])('SB-08 %s would become null and is refused', text =>
    expect(parse(text)).toHaveProperty('problem', expect.stringContaining('too large')),
  );

  test('SB-08 ten megabytes of one string or one number are read in one pass', () => {
    const long = `"${'a\\"'.repeat(3_000_000)}"`;
    expect(parse(`[${long},1234567890123456789]`)).toHaveProperty('warnings', [expect.stringContaining('2^53')]);
    expect(parse(`[${'9'.repeat(9_000_000)}]`)).toHaveProperty('problem');
  });
});

test('the depth of a value is counted without recursing', () => {
  let deep: JsonValue = 1;
  for (let at = 0; at < 200_000; at++) deep = [deep];
  expect(depthOfValue(deep, 128)).toBe(129);
  expect(depthOfValue([[1], { a: [2] }], 128)).toBe(3);
  expect(depthOfValue('text', 128)).toBe(0);
});
