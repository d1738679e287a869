import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { type Frontmatter, readFrontmatter } from '../../src/dialects/frontmatter.ts';
import { repairYaml } from '../../src/dialects/repair.ts';
import { toJson, type YamlNode } from '../../src/dialects/yaml.ts';
import type { DiagnosticCode } from '../../src/skill/index.ts';

const read = (yaml: string) => readFrontmatter(`---\n${yaml}\n---\nbody\n`);
const codesOf = (found: Frontmatter) => found.problems.map(problem => problem.code);

function valuesOf(found: Frontmatter): Record<string, unknown> {
  return Object.fromEntries(Array.from(found.fields ?? [], ([key, field]) => [key, toJson(field.node)]));
}

type Row = [title: string, yaml: string, values: Record<string, unknown>, code: DiagnosticCode];

describe('X-05 each fault is repaired, and the problem quotes the line', () => {
  const rows: Row[] = [
    ['an unquoted colon', 'description: Use when: asked', { description: 'Use when: asked' }, 'yaml-unquoted-colon'],
    [
      'several colons and quotes',
      'description: Say: "a", or: "b".',
      { description: 'Say: "a", or: "b".' },
      'yaml-unquoted-colon',
    ],
    ['a colon at the end', 'description: Does this:', { description: 'Does this:' }, 'yaml-unquoted-colon'],
    [
      'a colon over two lines',
      'description: Does: this\n  and that',
      { description: 'Does: this and that' },
      'yaml-unquoted-colon',
    ],
    [
      'a paragraph with a colon',
      'description: Does this.\n\n  Words: a, b',
      { description: 'Does this. Words: a, b' },
      'yaml-unquoted-colon',
    ],
    [
      'a colon below the key',
      'description:\n  Use when: the user: asks',
      { description: 'Use when: the user: asks' },
      'yaml-unquoted-colon',
    ],
    ['@ at the start', 'description: @agent does this', { description: '@agent does this' }, 'yaml-reserved-indicator'],
    [
      'a backtick at the start',
      'description: `code` first',
      { description: '`code` first' },
      'yaml-reserved-indicator',
    ],
    ['* at the start', 'description: **Bold** first', { description: '**Bold** first' }, 'yaml-reserved-indicator'],
    ['* alone', 'model: *', { model: '*' }, 'yaml-reserved-indicator'],
    [
      '* and no space after it',
      'description: **粗体**文字',
      { description: '**粗体**文字' },
      'yaml-reserved-indicator',
    ],
    [', at the start', 'description: , then', { description: ', then' }, 'yaml-reserved-indicator'],
    ['% at the start', 'description: % of all', { description: '% of all' }, 'yaml-reserved-indicator'],
    ['- at the start', 'description: - a: b', { description: '- a: b' }, 'yaml-reserved-indicator'],
    ['[x] and text', 'argument-hint: [file] [--all]', { 'argument-hint': '[file] [--all]' }, 'yaml-reserved-indicator'],
    ['{x} and text', 'description: {{a}} and {{b}}', { description: '{{a}} and {{b}}' }, 'yaml-reserved-indicator'],
    ['text behind >', 'description: > Use it', { description: 'Use it' }, 'yaml-block-text'],
    ['text behind |-', 'description: |- Use: it', { description: 'Use: it' }, 'yaml-block-text'],
    [
      'text behind > and below it',
      'description: > Use it\n  when asked',
      { description: 'Use it when asked' },
      'yaml-block-text',
    ],
    ['a bracket that never closes', 'tags: [a, b', { tags: '[a, b' }, 'yaml-unbalanced-flow'],
    ['a brace that never closes', 'metadata: {"a": {"b": 1}', { metadata: '{"a": {"b": 1}' }, 'yaml-unbalanced-flow'],
    [
      'a quote that never closes',
      'description: "Never closed',
      { description: 'Never closed' },
      'yaml-unbalanced-flow',
    ],
    [
      'quotes inside quotes',
      'description: "Say "a" or "b""',
      { description: 'Say "a" or "b"' },
      'yaml-unbalanced-flow',
    ],
    ['text behind quotes', 'description: "A" skill', { description: '"A" skill' }, 'yaml-unbalanced-flow'],
    ['an apostrophe inside single quotes', "description: 'Don't'", { description: "Don't" }, 'yaml-unbalanced-flow'],
    ["\\' inside double quotes", 'description: "Don\\\'t"', { description: "Don't" }, 'yaml-unbalanced-flow'],
    [
      'a Windows path in double quotes',
      'description: "In C:\\Users"',
      { description: 'In C:\\Users' },
      'yaml-unbalanced-flow',
    ],
    ['a line that is not indented', 'description: One\ntwo', { description: 'One two' }, 'yaml-continuation'],
    ['a block that is not indented', 'description: |\nOne\ntwo', { description: 'One\ntwo\n' }, 'yaml-continuation'],
    [
      'a key-like line in such a block',
      'description: >\nUse when: asked\nby all',
      { description: 'Use when: asked by all\n' },
      'yaml-continuation',
    ],
    [
      'quotes that go on at the margin',
      'description: "One\ntwo: three"',
      { description: 'One two: three' },
      'yaml-continuation',
    ],
    [
      'a flow that goes on at the margin',
      'metadata: {\n"a": {\n"b": 1\n}\n}',
      { metadata: { a: { b: 1 } } },
      'yaml-continuation',
    ],
    ['tabs below a key', 'metadata:\n\ta: b\n\tc:\n\t\t- d', { metadata: { a: 'b', c: ['d'] } }, 'yaml-tab'],
    ['tabs below >', 'description: >\n\tOne\n\ttwo', { description: 'One two\n' }, 'yaml-tab'],
    ['no space behind the colon', 'version:1.2.3', { version: '1.2.3' }, 'yaml-colon-space'],
    ['a no-break space behind it', 'license:\u00a0MIT', { license: 'MIT' }, 'yaml-colon-space'],
    ['a full-width colon', 'author：谁', { author: '谁' }, 'yaml-colon-space'],
    [
      'a child with a colon',
      'metadata:\n  a: b: c\n  d: e',
      { metadata: { a: 'b: c', d: 'e' } },
      'yaml-unquoted-colon',
    ],
    ['a field that is indented', 'x: y\n name: z', { x: 'y', name: 'z' }, 'yaml-field-invalid'],
    ['two fields on one line', 'name: z description: d', { name: 'z', description: 'd' }, 'yaml-field-invalid'],
    ['a conflict marker', '<<<<<<< HEAD\nlicense: MIT', { license: 'MIT' }, 'yaml-conflict-marker'],
  ];

  test.each(rows)('%s', (_title, yaml, values, code) => {
    const found = read(`first: 1\n${yaml}\nlast: 2`);
    expect(valuesOf(found)).toEqual({ first: 1, ...values, last: 2 });
    expect(codesOf(found)).toEqual([code]);
    expect(found.problems[0]?.message).toContain('`');
  });

  test.each(rows)('%s, with CRLF', (_title, yaml, values, code) => {
    const found = readFrontmatter(`---\n${yaml}\nlast: 2\n---\n`.replaceAll('\n', '\r\n'));
    expect(valuesOf(found)).toEqual({ ...values, last: 2 });
    expect(codesOf(found)).toEqual([code]);
  });

  test.each(rows)('%s: the places are those of the file', (_title, yaml, _values, _code) => {
    for (const text of [
      `---\n${yaml}\nlast: 2\n---\n`,
      `---\r\n${yaml.replaceAll('\n', '\r\n')}\r\nlast: 2\r\n---\r\n`,
    ]) {
      for (const field of readFrontmatter(text).fields?.values() ?? []) {
        expect(text.slice(field.keyAt)).toMatch(new RegExp(`^["']?${field.key}`));
        const start = text.slice(field.node.at, field.node.end).trim();
        if (field.node.kind === 'scalar') expect(start.replace(/^[>|"'-]+\s*/, '')).toMatch(/^\S/);
        else expect(start).toMatch(/^[\w{["'-]/);
      }
    }
  });
});

describe('X-03 places in what was laid out anew', () => {
  const leaves = (node: YamlNode): YamlNode[] =>
    node.kind === 'scalar'
      ? [node]
      : (node.kind === 'list' ? node.items : node.entries.map(entry => entry.node)).flatMap(leaves);

  test.each([
    ['tabs', 'metadata:\n\ta: one\n\tb:\n\t\t- two\n\t\t- three'],
    ['lines at the margin', 'metadata: {\n"a": one,\n"b": [two,\nthree]\n}'],
    ['children of which one is broken', 'metadata:\n    a: one\n    b:\n      - two\n      - three\n    x: y: z'],
  ])('%s', (_title, yaml) => {
    for (const end of ['\n', '\r\n']) {
      const text = `---\n${yaml}\nlast: x: y\n---\n`.replaceAll('\n', end);
      const node = readFrontmatter(text).fields?.get('metadata')?.node;
      const words = node === undefined ? [] : leaves(node).map(leaf => text.slice(leaf.at, leaf.end));
      expect(words.slice(0, 3)).toEqual(['one', 'two', 'three']);
    }
  });
});

describe('X-05 what is not broken is left alone', () => {
  test('what follows a closed quote at the margin is no part of it', () => {
    const found = read('description: "One"\nstray words\nodd{key: two\nlicense: MIT');
    expect(valuesOf(found)).toEqual({ description: 'One', 'odd{key': 'two', license: 'MIT' });
    expect(codesOf(found)).toEqual(['yaml-field-invalid']);
  });

  test('a line above all fields is skipped', () => {
    const found = read('nonsense\nlicense: MIT');
    expect(valuesOf(found)).toEqual({ license: 'MIT' });
    expect(codesOf(found)).toEqual(['yaml-field-invalid']);
  });

  test('a block scalar holds anything', () => {
    const found = read('a: b: c\ndescription: |\n  x: [y\n  "z\n  - @\n  \n  key: value: more\nlicense: MIT');
    expect(valuesOf(found)).toEqual({ a: 'b: c', description: 'x: [y\n"z\n- @\n\nkey: value: more\n', license: 'MIT' });
    expect(codesOf(found)).toEqual(['yaml-unquoted-colon']);
  });

  test('a comment below a value is no part of it', () => {
    const found = read('argument-hint: [a] [b]\n# a remark: here\nlicense: MIT');
    expect(valuesOf(found)).toEqual({ 'argument-hint': '[a] [b]', license: 'MIT' });
  });

  test('prose below a description belongs to it; a field does not', () => {
    const found = read('description: Does: this\nUse when: asked by the user\nAuthor: me\ncolor: red');
    expect(valuesOf(found)).toEqual({
      description: 'Does: this Use when: asked by the user',
      Author: 'me',
      color: 'red',
    });
  });

  test('other values keep their type beside a broken one', () => {
    const found = read('a: b: c\nn: 1\nt: true\nl: [1, two]\nm: {k: v}\nq: "x: y"\nz:');
    expect(valuesOf(found)).toEqual({ a: 'b: c', n: 1, t: true, l: [1, 'two'], m: { k: 'v' }, q: 'x: y', z: null });
  });

  test('metadata and allowed-tools in any shape', () => {
    const shapes = [
      '[]',
      '{}',
      '"{}"',
      'a, b',
      '["a", b]',
      '{"a": [1, {b: c}]}',
      '|\n  a\n  b',
      '\n  - a',
      '\n  a:\n    - b',
      '',
    ];
    for (const shape of shapes) {
      const found = read(`name: x\ndescription: a: b\nmetadata: ${shape}\nallowed-tools: ${shape}`);
      expect(codesOf(found)).toEqual(['yaml-unquoted-colon']);
      expect(found.fields?.get('metadata')?.repaired).toBe(false);
    }
  });
});

describe('X-04 duplicates and conflicts', () => {
  test('the last of two keys counts, also where another line is broken', () => {
    for (const broken of ['', 'x: y: z\n']) {
      const found = read(`${broken}description: one\ndescription: two`);
      expect(valuesOf(found).description).toBe('two');
      expect(codesOf(found)).toContain('yaml-duplicate-key');
    }
  });

  test('both sides of a conflict are read, the last counts', () => {
    const found = read('name: a\n<<<<<<< HEAD\ndescription: one\n=======\ndescription: two\n>>>>>>> branch');
    expect(valuesOf(found)).toEqual({ name: 'a', description: 'two' });
  });
});

describe('X-11 a doubtful field is marked, and no edit grants it', () => {
  test.each([
    ['repaired', 'allowed-tools: *'],
    ['repaired by layout', 'allowed-tools:\n\t- Bash'],
    ['without a space', 'allowed-tools:Bash'],
    ['given twice', 'allowed-tools: Read\nallowed-tools: Bash'],
    ['given twice inside', 'allowed-tools: {a: 1, a: 2}'],
    ['tagged', 'allowed-tools: !x Bash'],
    ['in a conflict', '<<<<<<< HEAD\nallowed-tools: Bash'],
    ['broken inside', 'allowed-tools:\n  a: b: c'],
  ])('%s', (_title, yaml) => {
    const found = read(`name: x\n${yaml}`);
    expect(found.fields?.get('allowed-tools')?.repaired).toBe(true);
    expect(found.problems.filter(problem => problem.fix !== null)).toEqual([]);
  });

  test('a sound field beside a broken one is not doubted', () => {
    expect(read('description: a: b\nallowed-tools: Read').fields?.get('allowed-tools')?.repaired).toBe(false);
  });

  test('where the end of the frontmatter is guessed, everything is doubted', () => {
    const { fields } = readFrontmatter('---\nname: x\nallowed-tools: Bash\n\n# Title\n');
    expect(fields?.get('allowed-tools')?.repaired).toBe(true);
  });
});

describe('X-04 what is never repaired', () => {
  test.each([
    ['an alias', 'a: &x 1\nb: *x\nd: e: f', 'yaml-alias'],
    ['an alias inside a list', 'a:\n  - &x 1\n  - *x\nd: e: f', 'yaml-alias'],
    ['a reserved key', '__proto__: 1\nd: e: f', 'yaml-forbidden-key'],
    ['a reserved key inside', 'metadata:\n  constructor: 1\nd: e: f', 'yaml-forbidden-key'],
    ['a reserved key beside a broken child', 'metadata:\n  __proto__: 1\n  d: e: f', 'yaml-forbidden-key'],
  ])('%s', (_title, yaml, code) => {
    const found = read(yaml);
    expect(found.fields).toBeNull();
    expect(codesOf(found)).toContain(code);
  });

  test('more broken fields than anybody could have meant', () => {
    const yaml = Array.from({ length: 500 }, (_, index) => `k${index}: a: b`).join('\n');
    expect(read(yaml).fields).toBeNull();
    expect(codesOf(read(yaml))).toContain('yaml-invalid');
    expect(repairYaml(yaml, 0).entries).toEqual([]);
  });
});

function applyFixes(text: string, found: Frontmatter): string {
  const edits = found.problems.flatMap(problem => problem.fix ?? []).sort((a, b) => b.start - a.start);
  return edits.reduce((done, edit) => done.slice(0, edit.start) + edit.text + done.slice(edit.end), text);
}

const keys = fc.constantFrom(
  'name',
  'description',
  'license',
  'argument-hint',
  'x',
  'when_to_use',
  'metadata',
  'allowed-tools',
);
const PIECES = [
  'a',
  'b c',
  ': ',
  ':',
  ' #',
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  ',',
  '@',
  '`',
  '*',
  '&',
  '!',
  '%',
  '|',
  '>',
  '- ',
  '?',
  '\\',
  '\\n',
  '\u00a0',
  'é',
  '：',
  '😀',
  '\u2028',
  '\t',
  '  ',
  'true',
  'null',
  '1.0',
  '~',
  '<b>',
  '#',
  '---',
  '\u0007',
  '\u007f',
];
const pieces = fc.constantFrom(...PIECES);
const values = fc.array(pieces, { maxLength: 6 }).map(parts => parts.join(''));
const lines = fc.tuple(keys, fc.constantFrom(': ', ':', ':  ', '：', '\n  '), values).map(parts => parts.join(''));
const texts = fc
  .tuple(fc.array(lines, { minLength: 1, maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\n\n'))
  .map(([rows, end]) => `---${end}${rows.join(end)}${end}---${end}body`);

describe('X-05 an edit is offered only where it is safe', () => {
  test('the text that it leaves reads the same, and strictly where nothing else is wrong', () => {
    let edited = 0;
    fc.assert(
      fc.property(texts, text => {
        const found = readFrontmatter(text);
        if (found.problems.every(problem => problem.fix === null)) return;
        edited++;
        const fixed = applyFixes(text, found);
        const again = readFrontmatter(fixed);
        expect(valuesOf(again)).toEqual(valuesOf(found));
        expect(again.problems.filter(problem => problem.fix !== null)).toEqual([]);
        if (found.problems.some(problem => problem.fix === null)) return;
        expect(again.problems).toEqual([]);
        const document = parseDocument(/^---\r?\n([\s\S]*?)\r?\n---/.exec(fixed)?.[1] ?? '', { logLevel: 'silent' });
        expect(document.errors).toEqual([]);
      }),
      { numRuns: 3000, seed: 20261115 },
    );
    expect(edited).toBeGreaterThan(300);
  });
});
