import { describe, expect, test } from 'vitest';
import { linksOf, parseBlocks, plainText, sectionsOf } from '../../src/dialects/markdown.ts';

function outline(text: string): string[] {
  return sectionsOf(parseBlocks(text).tokens).map(({ level, text: title, line }) => `${line}: h${level} ${title}`);
}

function targets(text: string): string[] {
  return linksOf(text).links.map(({ target, line, column }) => `${line}:${column} ${target}`);
}

describe('sections', () => {
  test('GB-04 headings by level, text and line', () => {
    expect(outline('# A\n\ntext\n\n### b ###\n#### C\n\nD\n===\n')).toEqual([
      '1: h1 A',
      '5: h3 b',
      '6: h4 C',
      '8: h1 D',
    ]);
  });

  test('GB-04 headings inside fences, code, quotes, lists and HTML are not sections', () => {
    const text =
      '```\n### a\n```\n\n    ### b\n\n> ### c\n\n- ### d\n\n<!--\n### e\n-->\n\n~~~~md\n```\n### f\n~~~~\n\n### real\n';
    expect(outline(text)).toEqual(['20: h3 real']);
  });

  test('GB-04 a section ends at the next heading of its own or a higher level', () => {
    const { tokens } = parseBlocks('### a\n\nx\n\n#### b\n\ny\n\n### c\n\nz\n\n## d\n');
    const held = sectionsOf(tokens).map(section => {
      const inside = tokens.slice(section.from, section.to).filter(token => token.type === 'inline');
      return [section.text, inside.map(token => token.content)];
    });
    expect(held).toEqual([
      ['a', ['x', 'b', 'y']],
      ['b', ['y']],
      ['c', ['z']],
      ['d', []],
    ]);
  });

  test.each([
    ['`git_status`', 'git_status'],
    ['**Command**', 'Command'],
    ['my_tool_name', 'my_tool_name'],
    ['a\\_b', 'a_b'],
    ['[a](b) ![c](d)', 'a c'],
    ['R&amp;D', 'R&D'],
  ])('plain text of %s', (content, plain) => {
    expect(plainText(content)).toBe(plain);
  });

  test('X-04 CRLF and lone CR end lines; NUL becomes U+FFFD', () => {
    expect(outline('# a\r\n\r\n# b\r# c\0d\r\n')).toEqual(['1: h1 a', '3: h1 b', '4: h1 c\ufffdd']);
  });
});

describe('links', () => {
  test('AS-08 inline links, images and definitions, with their places', () => {
    const text =
      'See [a](x.md) and ![b](y.png "t")\nand\n   [c]( <z w.md> ).\n\n[ref]: scripts/run.sh\n\nuse [ref] and [it][ref] and [d](e)\n';
    expect(targets(text)).toEqual(['1:5 x.md', '1:19 y.png', '3:4 z w.md', '5:1 scripts/run.sh', '7:29 e']);
  });

  test('AS-08 places inside quotes, lists, headings and tables', () => {
    const text =
      '> - [a](1)\n>   [b](2)\n\n## t [c](3) ##\n\n| x | y |\n|---|---|\n| [d](4) | [d](4) |\n| [e](5) \\| x | [f](6) |\n';
    expect(targets(text)).toEqual(['1:5 1', '2:5 2', '4:6 3', '8:3 4', '8:12 4', '9:1 5', '9:1 6']);
  });

  test('AS-08 nothing inside code is a link, and an escaped bracket opens none', () => {
    const text = '`[a](b)` \\[c](d) <a href="[x](y)"> <https://h/[e](f)>\n\n```\n[g](h)\n```\n\n    [i](j)\n';
    expect(linksOf(text)).toEqual({ links: [], complete: true });
  });

  test('AS-08 an image inside a link is a link of its own; a link inside an image text is none', () => {
    expect(targets('[![a](1)](2) ![x [y](3)](4)')).toEqual(['1:1 2', '1:2 1', '1:14 4']);
  });

  test('AS-08 a target keeps its spelling, escapes resolved, whatever its scheme', () => {
    expect(
      targets('[a](a%20b\\).md) [b](file:///x) [c](javascript:0) [d](ä.md)').map(line => line.split(' ')[1]),
    ).toEqual(['a%20b).md', 'file:///x', 'javascript:0', 'ä.md']);
  });

  test('AS-08 the first of two definitions counts; names of object members are labels like others', () => {
    expect(targets('[constructor]: a\n[__proto__]: b\n[constructor]: c\n')).toEqual(['1:1 a', '2:1 b']);
    expect(linksOf('[constructor] [toString][__proto__]').links).toEqual([]);
  });
});

describe('hostile Markdown', () => {
  const MEGABYTE = 1024 ** 2;
  const fill = (text: string) => text.repeat(Math.ceil(MEGABYTE / text.length));

  // Each is quadratic or worse in a careless parser; here the suite's time limit is the only clock.
  test.each([
    ['brackets', '['],
    ['emphasis', '*a_ '],
    ['backticks', '`a``'],
    ['quotes', '>'],
    ['nested quotes and lists', '> - > - > - > - a\n'],
    ['lists in a line', '- '],
    ['list items', '- a\n'],
    ['headings', '### a\n'],
    ['marked headings', '### *a* `b`\n'],
    ['setext headings', 'a\n=\n'],
    ['tables', '|a|\n|-|\n\n'],
    ['cells', '|a'],
    ['definitions', '[a]: b "x\n'],
    ['open tags', '<a x '],
    ['comments', '<!--\n'],
    ['links', '[a](b) '],
    ['link openers', '[a]('],
    ['images', '!['],
    ['blank lines', '\n'],
    ['NUL', '\0'],
  ])('a megabyte of %s ends', (_name, text) => {
    const body = fill(text);
    expect(linksOf(body).links.length).toBeLessThan(60_000);
    expect(sectionsOf(parseBlocks(body).tokens).length).toBeLessThanOrEqual(20_000);
  });

  test.each([
    ['[', '](x)'],
    ['![', '](x)'],
    ['[](', '](x)'],
    ['[a][', '](x)'],
    ['[a](b "', '](x)'],
    ['<a b="', '](x)'],
  ])('blocks of %s just under the inline limit end', (open, close) => {
    const block = `${open.repeat(Math.floor(16_000 / open.length))}${close}\n\n`;
    expect(linksOf(`[a]: b\n\n${fill(block)}`).complete).toBe(false);
  });

  test('what is too long to be looked at is said, and the rest is still read', () => {
    const long = `${'a'.repeat(17_000)} [a](b)`;
    expect(linksOf(`${long}\n\n[c](d)\n`)).toEqual({ links: [{ target: 'd', line: 3, column: 1 }], complete: false });
    const many = linksOf(`${'a'.repeat(1000)} [a](b)\n\n`.repeat(300));
    expect(many.complete).toBe(false);
    expect(many.links.length).toBe(Math.floor((256 * 1024) / 1007));
  });

  test('beyond 20,000 lines the text is cut at a line, and says so', () => {
    const blocks = parseBlocks('### a\n'.repeat(20_001));
    expect([sectionsOf(blocks.tokens).length, blocks.complete]).toEqual([20_000, false]);
    expect(parseBlocks('### a\n'.repeat(20_000)).complete).toBe(true);
    expect(parseBlocks(`ok\n\n${'|'.repeat(100_000)}`)).toMatchObject({ lines: ['ok', '', ''], complete: false });
  });

  test('what lies deeper than 20 levels is not read, and says so', () => {
    const nested = (depth: number) => `${'> '.repeat(depth)}[a](b)\n`;
    expect(linksOf(nested(19))).toMatchObject({ links: [{ target: 'b' }], complete: true });
    expect(linksOf(nested(20))).toEqual({ links: [], complete: false });
    expect(linksOf(`${'- '.repeat(10)}[a](b)\n`)).toEqual({ links: [], complete: false });
  });
});
