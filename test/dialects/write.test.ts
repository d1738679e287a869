import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../src/base/index.ts';
import { readFrontmatter } from '../../src/dialects/frontmatter.ts';
import { renderDocument, renderYaml } from '../../src/dialects/write.ts';

describe('written YAML', () => {
  test.each([
    ['a version', '1.10', '"1.10"'],
    ['a word that older readers take for a boolean', 'yes', '"yes"'],
    ['a date', '2024-01-01', '"2024-01-01"'],
    ['null', 'null', '"null"'],
    ['a colon', 'Use when: asked', '"Use when: asked"'],
    ['a comment sign', 'a # b', '"a # b"'],
    ['brackets', '[x] y', '"[x] y"'],
    ['a control character', 'a\u007fb\u0085c\u0001', '"a\\x7fb\\x85c\\x01"'],
    ['what ends a line to older readers', 'a # b\u2028c: d\u2029e', '"a # b\\u2028c: d\\u2029e"'],
    ['blanks and nothing else', ' \n', '"\\ \\n"'],
    ['ordinary text', "It's plain, isn't it?", "It's plain, isn't it?"],
    ['lines', 'one\ntwo', '|-\n  one\n  two'],
  ])('X-03 quotes what needs it: %s', (_what, value, written) => {
    expect(renderYaml({ value })).toBe(`value: ${written}\n`);
  });

  test('long lines are not folded', () => {
    const long = 'word '.repeat(100).trim();
    expect(renderYaml({ long })).toBe(`long: ${long}\n`);
  });

  test('X-07 text that ends in lines of blanks is read back as it was', () => {
    const text = 'a sentence of forty characters or so: x\n \n ';
    expect(parse(renderYaml({ text, inner: { text } }))).toEqual({ text, inner: { text } });
  });

  test('X-04 a value that is there twice is written twice, for anchors are refused', () => {
    const shared = { a: [1] };
    expect(renderYaml({ one: shared, two: shared })).not.toMatch(/[&*]/);
  });

  test('X-03 any value is read back as it was, by our reader and by the library', () => {
    const value = fc
      .jsonValue({ stringUnit: 'grapheme', maxDepth: 3 })
      .filter(found => !/"(?:__proto__|constructor|prototype)":/.test(JSON.stringify(found)));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), value, (text, nested) => {
        // Through JSON first: it has no negative zero, and neither does anything that is converted.
        const fields = JSON.parse(JSON.stringify({ text, nested })) as JsonObject;
        const written = renderYaml(fields);
        expect(parse(written)).toEqual(fields);
        const { fields: read, problems } = readFrontmatter(`---\n${written}---\n`);
        expect(problems).toEqual([]);
        const node = read?.get('text')?.node;
        expect(node?.kind === 'scalar' ? node.text : null).toBe(text);
      }),
    );
  });
});

test('the body follows after a blank line, and an empty one not at all', () => {
  expect(renderDocument({ name: 'a' }, 'Read.\n')).toBe('---\nname: a\n---\n\nRead.\n');
  expect(renderDocument({ name: 'a' }, '')).toBe('---\nname: a\n---\n');
});
