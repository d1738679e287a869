import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFrontmatter, textOf } from '../../src/dialects/frontmatter.ts';
import { readPlainHead } from '../../src/dialects/plain-head.ts';

const KEYS = new Set(['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools']);

/** Whether it took the text; if so, the reader of frontmatter says the same, without a word of doubt. */
function agrees(text: string): boolean {
  const bytes = Buffer.from(text);
  const head = readPlainHead(bytes);
  if (head === null) return false;
  const { fields, problems } = readFrontmatter(bytes.toString('utf8'));
  expect(problems).toEqual([]);
  const read = (key: string) => {
    const field = fields?.get(key);
    return field === undefined ? null : textOf(field, text);
  };
  expect([read('name'), read('description')]).toEqual([
    { text: head.name, guessed: false },
    { text: head.description, guessed: false },
  ]);
  expect([...(fields?.keys() ?? [])].filter(key => !KEYS.has(key))).toEqual([]);
  return true;
}

describe('a plain head is read without the reader of frontmatter', () => {
  test.each([
    'name: a\ndescription: Does things. Use when asked (or not):no, yes#1.\n',
    '\nname: a\n\ndescription: "it is: fine # really"\nlicense: MIT\n',
    "name: 'a'\ndescription: 处理 — Überprüft 📄 dies\n",
    'name: a\ndescription: "  inside  "\nallowed-tools: Read Grep Bash(git:*)\n',
    'name: a\ndescription: >-\n  Folds over: this\n  and # that.\ncompatibility: Node 22\n',
    'name: a\ndescription: >\n  Folds.\n',
    'name: a\ndescription: |\n    Keeps\n    lines.\n',
    'metadata:\n  author: x\n  version: "1.0"\nname: a\ndescription: b\n',
    'description: b\nmetadata: none\nname: a\n',
  ])('%j', fields => {
    expect(agrees(`---\n${fields}---\n# Body\n`)).toBe(true);
  });
});

describe('and everything else is left to it', () => {
  test.each([
    '',
    '---\nname: a\ndescription: b\n',
    '---\nname: a\ndescription: b\n---',
    '--- \nname: a\ndescription: b\n---\n',
    '---\r\nname: a\r\ndescription: b\r\n---\r\n',
    ...[
      'name: a\n',
      'name: a\ndescription: b\nversion: 1.0.0\n',
      'name: a\ndescription: b\nauthor: x\n',
      'name: a\ndescription: b\nname: c\n',
      'Name: a\ndescription: b\n',
      'name: a\ndescription: Use when: asked\n',
      'name: a\ndescription: b #c\n',
      'name: a\ndescription: b:\n',
      'name: a\ndescription: b\n  c\n',
      'name: a\ndescription: "x\\n"\n',
      'name: a\ndescription: "x" y\n',
      "name: a\ndescription: 'x''y'\n",
      'name: a\ndescription: ""\n',
      'name: a\ndescription: null\n',
      'name: a\ndescription: 12\n',
      'name: a\ndescription: b\tc\n',
      'name: a\ndescription: b\u00a0\n',
      'name: a\ndescription: \u2028b\n',
      'name: a\ndescription: b\u0085c\n',
      'name: a\ndescription:b\n',
      'name: a\ndescription:\n  b: c\n',
      'name: a\ndescription: >-\n  b\n\n  c\n',
      'name: a\ndescription: >-\n  b\n   c\n',
      'name: a\ndescription: >+\n  b\n',
      'name: a\ndescription: >-\nlicense: MIT\n',
      'name: a\ndescription: b\nmetadata:\n  a: b\n  a: c\n',
      'name: a\ndescription: b\nmetadata:\n  a: b\n c: d\n',
      'name: a\ndescription: b\nmetadata:\n  a:\n    b: c\n',
      'name: a\ndescription: b\nmetadata:\n  __proto__: c\n',
      'name: a\ndescription: b\nmetadata:\n',
      'name: a\ndescription: b\nlicense: [MIT\n',
      'name: a\ndescription: b\n...\n',
      'name: a\ndescription: b\n# comment\n',
    ].map(fields => `---\n${fields}---\n`),
  ])('%j', text => {
    expect(readPlainHead(Buffer.from(text))).toBeNull();
  });

  test('bytes that are no UTF-8', () => {
    const bytes = Buffer.from('---\nname: a\ndescription: b? c\n---\n');
    bytes[bytes.indexOf('?')] = 0xff;
    expect(readPlainHead(bytes)).toBeNull();
  });
});

test('X-01/X-03 wherever it accepts, it equals the reader of frontmatter', () => {
  const piece = fc.constantFrom(
    'a',
    'Zz',
    '0',
    '-',
    ' ',
    '  ',
    ':',
    ': ',
    '#',
    ' #',
    '"',
    "'",
    '\\',
    '\n',
    '\n  ',
    '\n\n',
    '|',
    '>',
    '>-',
    '|-',

    'null',
    'true',
    '1.2.3',
    '[a]',
    '{',
    '&',
    '*',
    '!',
    '%',
    '@',
    '`',
    '~',
    '---',
    '...',
    '\r',
    '\t',
    'é',
    '处',
    '📄',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\u0085',
    '\u3000',
    '\ufffd',
  );
  const plain = fc.constantFrom('a', 'b c', 'Use it.', '-', '"', '>-\n  ', '\n  ', ' ');
  const value = fc
    .array(fc.oneof({ weight: 3, arbitrary: plain }, piece), { maxLength: 5 })
    .map(parts => parts.join(''));
  const usual = fc.constantFrom('', 'license: MIT', 'metadata:\n  a: b', 'metadata:\n  a: b\n  c-d: "e"', '---', '  b');
  const other = fc.tuple(fc.constantFrom('license: ', 'metadata:\n  a: ', 'compatibility:', 'a: '), value);
  const more = fc.oneof(
    usual,
    other.map(parts => parts.join('')),
  );
  let taken = 0;
  fc.assert(
    fc.property(fc.constantFrom('name: a\n', 'name: "a b"\n', ''), value, more, (name, text, last) => {
      if (agrees(`---\n${name}description: ${text}\n${last}\n---\nBody\n`)) taken++;
    }),
    { numRuns: 20_000 },
  );
  // Otherwise this test says nothing.
  expect(taken).toBeGreaterThan(500);
});
