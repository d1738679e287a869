import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonObject, SkillboxError } from '../../../src/base/index.ts';
import { dashedSlots, interpolate } from '../../../src/dialects/gibberish/interpolate.ts';
import { argvOf, toolOf } from './tool.ts';

type Case = [row: string, command: string, rows: string[], args: JsonObject, argv: string[]];

const LIMIT = 'limit | integer | no | Most';
const FILE = 'file | string | no | File';
const COUNT = 'count | integer | no | Commits';
const FOLDER = 'folder | string | no | Where';
const FILES = 'files | array | no | Files';
const STAGED = 'staged | boolean | no | Staged';
const QUERY = ['q | string | yes | Query', 'n | integer | no | Most'];
const SEARCH = 'curl "https://h/s?q={{q}}&n={{n}}"';

describe('GB-06/GB-07 the table', () => {
  const cases: Case[] = [
    ['row 1', 'a --limit={{limit}}', [LIMIT], { limit: 5 }, ['a', '--limit=5']],
    ['row 1, absent', 'a --limit={{limit}} b', [LIMIT], {}, ['a', 'b']],
    ['row 1, null', 'a --limit={{limit}} b', [LIMIT], { limit: null }, ['a', 'b']],
    ['row 2', 'a {{file}}', [FILE], { file: 'a b.txt' }, ['a', 'a b.txt']],
    ['row 2, absent', 'a -f {{file}} b', [FILE], {}, ['a', '-f', 'b']],
    ['row 2, empty', 'a {{file}} b', [FILE], { file: '' }, ['a', '', 'b']],
    ['row 3, modifier', 'a -n {{count:10}}', [COUNT], {}, ['a', '-n', '10']],
    ['row 3, given', 'a -n {{count:10}}', [COUNT], { count: 3 }, ['a', '-n', '3']],
    ['row 3, zero', 'a -n {{count:10}}', [COUNT], { count: 0 }, ['a', '-n', '0']],
    ['row 3, description', 'a -n {{count}}', [`${COUNT} (default: 10)`], {}, ['a', '-n', '10']],
    ['row 3, both', 'a -n {{count:20}}', [`${COUNT} (default: 10)`], {}, ['a', '-n', '20']],
    ['row 3, prose', 'a {{count:9}}', [`${COUNT} (default: all)`], {}, ['a', '9']],
    ['row 3, each its own', 'a {{count:1}} {{count:2}}', [COUNT], {}, ['a', '1', '2']],
    ['row 3, −1', 'a {{count:-1}}', [COUNT], {}, ['a', '-1']],
    ['row 3, −1 given', 'a {{count:-1}}', [COUNT], { count: 2 }, ['a', '2']],
    ['row 3, number', 'a {{x:-.5}}', ['x | number | no | X'], {}, ['a', '-0.5']],
    ['row 3, string', 'a {{file:.}}', [FILE], {}, ['a', '.']],
    ['row 3, string in words', 'a --b={{file}}', [`${FILE} (default: \`main\`)`], {}, ['a', '--b=main']],
    ['row 3, elsewhere', 'a {{count:7}} --n={{count}}', [COUNT], {}, ['a', '7', '--n=7']],
    ['row 4, true', 'git diff {{staged:--staged}}', [STAGED], { staged: true }, ['git', 'diff', '--staged']],
    ['row 4, false', 'git diff {{staged:--staged}}', [STAGED], { staged: false }, ['git', 'diff']],
    ['row 4, absent', 'git diff {{staged:--staged}}', [STAGED], {}, ['git', 'diff']],
    ['row 4, default', 'a {{staged:-s}}', [`${STAGED} (default: true)`], {}, ['a', '-s']],
    ['row 4, default off', 'a {{staged:-s}}', [`${STAGED} (default: true)`], { staged: false }, ['a']],
    ['row 4, plain', 'a --s={{staged}}', [STAGED], { staged: false }, ['a', '--s=false']],
    ['row 4, inside', 'a -l{{staged:a}}', [STAGED], { staged: true }, ['a', '-la']],
    ['row 5', 'a {{folder:-onlyin}}', [FOLDER], { folder: '/tmp' }, ['a', '-onlyin', '/tmp']],
    ['row 5, spaces', 'a {{folder:-onlyin}}', [FOLDER], { folder: '/a b' }, ['a', '-onlyin', '/a b']],
    ['row 5, absent', 'a {{folder:-onlyin}} b', [FOLDER], {}, ['a', 'b']],
    ['row 5, number', 'a {{count:-n}}', [COUNT], { count: 5 }, ['a', '-n', '5']],
    ['row 5, list', 'a {{files:-f}}', [FILES], { files: ['x', 'y'] }, ['a', '-f', 'x', 'y']],
    ['row 5, empty list', 'a {{files:-f}}', [FILES], { files: [] }, ['a']],
    ['row 6', 'a {{files}}', [FILES], { files: ['a', 'b c'] }, ['a', 'a', 'b c']],
    ['row 6, quoted', 'a "{{files}}"', [FILES], { files: ['a', 'b c'] }, ['a', 'a', 'b c']],
    ['row 6, empty', 'a {{files}} b', [FILES], { files: [] }, ['a', 'b']],
    ['row 6, absent', 'a {{files}} b', [FILES], {}, ['a', 'b']],
    ['row 7', 'a tags={{files}}', [FILES], { files: ['a', 'b'] }, ['a', 'tags=a b']],
    ['row 7, absent', 'a tags={{files}}', [FILES], {}, ['a']],
    ['row 8', SEARCH, QUERY, { q: 'rust lang', n: 5 }, ['curl', 'https://h/s?q=rust%20lang&n=5']],
    ['row 8, absent', SEARCH, QUERY, { q: 'rust lang' }, ['curl', 'https://h/s?q=rust%20lang']],
    ['row 9', `a '' "" b`, [], {}, ['a', '', '', 'b']],
    ['row 9, continued', 'a b\\\nc \\\n d', [], {}, ['a', 'bc', 'd']],
  ];
  test.each(cases)('%s: %s', (_row, command, rows, args, argv) => {
    expect(argvOf(command, rows, args)).toEqual(argv);
  });

  test('a token with one absent value of two is dropped', () => {
    const rows = ['a | string | no | A', 'b | string | no | B'];
    expect(argvOf('x {{a}}:{{b}} y', rows, { a: '1' })).toEqual(['x', 'y']);
    expect(argvOf('x {{a}}:{{b}} y', rows, { a: '1', b: '2' })).toEqual(['x', '1:2', 'y']);
  });
});

describe('GB-08 URLs', () => {
  const rows = ['a | string | no | A', 'b | string | no | B'];
  const url = (text: string, args: JsonObject) => argvOf(`curl '${text}'`, rows, args).slice(1);

  test.each<[string, JsonObject, string[]]>([
    ['https://h/s?a={{a}}&b={{b}}', { b: '2' }, ['https://h/s?b=2']],
    ['https://h/s?a={{a}}&k=1&b={{b}}', {}, ['https://h/s?k=1']],
    ['https://h/s?a={{a}}&b={{b}}', {}, ['https://h/s']],
    ['https://h/s?a={{a}}#{{b}}', {}, ['https://h/s']],
    ['https://h/s?a={{a}}#top', {}, ['https://h/s#top']],
    ['https://h/s?a={{a}}#{{b}}', { b: 'x&y' }, ['https://h/s#x%26y']],
    ['https://h/{{a}}/x?b={{b}}', { b: '1' }, []],
    ['https://h/{{a}}', { a: '../x?y#z' }, ['https://h/..%2Fx%3Fy%23z']],
    ['https://{{a}}/', { a: 'evil.com/@h' }, ['https://evil.com%2F%40h/']],
    ['http://h/?a={{a}}', { a: "é '()*!&=+%" }, ['http://h/?a=%C3%A9%20%27%28%29%2A%21%26%3D%2B%25']],
    ['HTTPS://h/?a={{a}}', { a: ' ' }, ['HTTPS://h/?a=%20']],
    ['https://h/?a={{a}}', { a: '' }, ['https://h/?a=']],
    ['https://h/?a={{a}}', { a: '\ud800' }, ['https://h/?a=%EF%BF%BD']],
    ['https://h/?a={{a:x y}}', {}, ['https://h/?a=x%20y']],
    ['https://h/?{{a}}={{b}}', { a: 'k', b: 'v' }, ['https://h/?k=v']],
    ['--url=https://h/?a={{a}}', { a: 'x y' }, ['--url=https://h/?a=x y']],
    ['{{a}}', { a: 'https://h/?q=x y' }, ['https://h/?q=x y']],
  ])('%s with %j', (text, args, expected) => {
    expect(url(text, args)).toEqual(expected);
  });

  test("the seed's own example", () => {
    const found = argvOf(
      'curl "https://api.com/search?q={{query}}&n={{limit}}"',
      ['query | string | yes | Q', 'limit | integer | no | N'],
      { query: 'rust lang', limit: 5 },
    );
    expect(found).toEqual(['curl', 'https://api.com/search?q=rust%20lang&n=5']);
  });

  test('a list is joined, a boolean shows its switch, inside a URL', () => {
    const more = ['t | array | no | T', 'v | boolean | no | V'];
    const command = 'curl "https://h/?t={{t}}&v{{v:=1}}"';
    expect(argvOf(command, more, { t: ['a', 'b'], v: true })).toEqual(['curl', 'https://h/?t=a%20b&v=1']);
    expect(argvOf(command, more, { t: ['a'], v: false })).toEqual(['curl', 'https://h/?t=a']);
  });

  test('a URL without placeholders stays as it is', () => {
    const literal = fc.stringMatching(/^https?:\/\/[a-z?&#=./;]{0,20}$/);
    fc.assert(
      fc.property(literal, text => {
        expect(url(text, {})).toEqual([text]);
      }),
    );
  });
});

/** Everything a value may hold that a shell, a URL or an option parser would take for more than text. */
const nasty = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '-',
    '--',
    '-rf',
    "'",
    '"',
    '\\',
    ';',
    '$(id)',
    '`id`',
    `\${x}`,
    '\n',
    '\t',
    '|',
    '&&',
    '{{x}}',
    '*',
    '~',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map(text => text.replaceAll('\0', '')),
  fc
    .array(
      fc.constantFrom('a', ' ', "'", '"', '\\', ';', '$', '(', ')', '\n', '-', '=', '{', '}', '&', '?', '#', '%', '💥'),
      {
        maxLength: 8,
      },
    )
    .map(parts => parts.join('')),
);

describe('GB-06 whatever the values hold', () => {
  const tool = toolOf(
    `p {{s}} --s={{s}} 'q {{s}} "' {{l}} l={{l}} {{f:-f}} "https://h/{{s}}?l={{l}}&o={{o}}" {{o}} end`,
    ['s | string | yes | S', 'l | array | yes | L', 'f | string | yes | F', 'o | string | no | O'],
  );

  test('argv has exactly the elements that the table allows', () => {
    fc.assert(
      fc.property(nasty, fc.array(nasty, { maxLength: 4 }), nasty, fc.option(nasty), (s, l, f, o) => {
        const { argv } = interpolate(tool, { s, l, f, o });
        const plain = ['p', s, `--s=${s}`, `q ${s} "`, ...l, `l=${l.join(' ')}`, '-f', f];
        expect(argv.slice(0, plain.length)).toEqual(plain);
        const [url, ...rest] = argv.slice(plain.length);
        expect(rest).toEqual(o === null ? ['end'] : [o, 'end']);
        expect(url).toMatch(/^https:\/\/h\/[A-Za-z0-9%._~-]*\?l=[A-Za-z0-9%._~-]*(?:&o=[A-Za-z0-9%._~-]*)?$/);
        const asSent = (text: string) => text.toWellFormed();
        expect(decodeURIComponent(url?.slice('https://h/'.length).split('?')[0] ?? '')).toBe(asSent(s));
        expect(decodeURIComponent(/\?l=([^&]*)/.exec(url ?? '')?.[1] ?? '')).toBe(asSent(l.join(' ')));
      }),
      { numRuns: 500 },
    );
  });

  test('GB-09 a given value that begins with "-" in a positional slot is told', () => {
    fc.assert(
      fc.property(nasty, fc.array(nasty, { maxLength: 4 }), nasty, fc.option(nasty), (s, l, f, o) => {
        const slots = dashedSlots(tool, { s, l, f, o });
        const dashed = [s, ...l, ...(o === null ? [] : [o])].filter(value => value.startsWith('-'));
        expect(slots.map(slot => slot.value)).toEqual(dashed);
        const { argv } = interpolate(tool, { s, l, f, o });
        for (const slot of slots) expect(argv[slot.index]).toBe(slot.value);
      }),
    );
  });
});

describe('GB-09 positional slots', () => {
  test.each<[string, string[], JsonObject, string[]]>([
    ['a {{x}}', ['x | string | yes | X'], { x: '-rf' }, ['x']],
    ['a -- {{x}}', ['x | string | yes | X'], { x: '-rf' }, []],
    ['a {{x:-x}} {{y}}', ['x | string | yes | X', 'y | string | yes | Y'], { x: '--', y: '-y' }, ['y']],
    ['a {{x}} {{y}}', ['x | string | no | X (default: --)', 'y | string | yes | Y'], { y: '-y' }, ['y']],
    ['a {{l}} {{y}}', ['l | array | yes | L', 'y | string | yes | Y'], { l: ['--'], y: '-y' }, ['l', 'y']],
    ['a {{x}} -- {{x}}', ['x | string | yes | X'], { x: '--' }, ['x']],
    ['a --x={{x}}', ['x | string | yes | X'], { x: '-rf' }, []],
    ['a {{x:-x}}', ['x | string | yes | X'], { x: '-rf' }, []],
    ['a {{x}}{{y}}', ['x | string | yes | X', 'y | string | yes | Y'], { x: '', y: '-y' }, ['y']],
    ['a {{x}}.txt', ['x | string | yes | X'], { x: '-x' }, ['x']],
    ['a {{x}}', ['x | integer | yes | X'], { x: -5 }, []],
    ['a {{x:.}}', ['x | string | no | X (default: -x)'], {}, []],
    ['a {{x}}', ['x | string | no | X (default: -x)'], {}, []],
  ])('%s with %j', (command, rows, args, expected) => {
    expect(dashedSlots(toolOf(command, rows), args).map(slot => slot.parameter)).toEqual(expected);
  });
});

test('a placeholder without a parameter is a broken skill, never an empty value', () => {
  const tool = { ...toolOf('a {{x}}', ['x | string | no | X']), parameters: [] };
  expect(() => interpolate(tool, {})).toThrow(SkillboxError);
});
