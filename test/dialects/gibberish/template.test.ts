import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTemplate } from '../../../src/dialects/gibberish/template.ts';

/** Tokens with placeholders as `{{name:modifier}}` and text as it is. */
function words(text: string): string[] {
  return parseTemplate(text).tokens.map(token =>
    token.pieces
      .map(piece => {
        if (piece.kind === 'text') return piece.text;
        return piece.modifier === null ? `{{${piece.name}}}` : `{{${piece.name}:${piece.modifier}}}`;
      })
      .join(''),
  );
}

function problems(text: string): string[] {
  return parseTemplate(text).problems.map(problem => `${problem.line}:${problem.column} ${problem.code}`);
}

function values(text: string): unknown[] {
  const pieces = parseTemplate(text).tokens.flatMap(token => token.pieces);
  return pieces.filter(piece => piece.kind === 'value').map(piece => [piece.name, piece.modifier]);
}

describe('tokens', () => {
  test.each([
    ['git log -n {{count}}', ['git', 'log', '-n', '{{count}}']],
    ['  a \t b  ', ['a', 'b']],
    [`a 'b  c' "d e"f`, ['a', 'b  c', 'd ef']],
    [`a '' ""`, ['a', '', '']],
    [`a b\\ c \\'d \\"`, ['a', 'b c', "'d", '"']],
    [`a 'b\\n' "\\a\\"\\\\"`, ['a', 'b\\n', '\\a"\\']],
    ['a b\\\nc \\\n  d', ['a', 'bc', 'd']],
    ['a "b\\\nc" "d\ne"', ['a', 'bc', 'd\ne']],
    ['a b\\', ['a', 'b\\']],
    ['a \\💥b', ['a', '💥b']],
    ['\n# why\n\n  a b\n\n# done\n', ['a', 'b']],
    ['a b # c', ['a', 'b']],
    ['a b#c', ['a', 'b#c']],
    ['a\r\n', ['a']],
    ['a b\\\r\nc', ['a', 'bc']],
    ['a ls|wc', ['a', 'ls|wc']],
  ])('GB-06 %j is split by POSIX quoting', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  test('GB-06 a token knows whether it was quoted, and where it starts', () => {
    const { tokens, starts } = parseTemplate(`\n a 'b' \\\n  c"d"`);
    expect(tokens.map(token => token.quoted)).toEqual([false, true, true]);
    expect(starts).toEqual([
      { line: 2, column: 2 },
      { line: 2, column: 4 },
      { line: 3, column: 3 },
    ]);
  });

  test.each([
    ['a {{x}}', [['x', null]]],
    ['a {{x:--flag}}', [['x', '--flag']]],
    ['a {{x:a:b}}', [['x', 'a:b']]],
    [
      'a --x={{x}},{{y-1}}',
      [
        ['x', null],
        ['y-1', null],
      ],
    ],
    [
      `a "https://h/?q={{q}}" '{{_r}}'`,
      [
        ['q', null],
        ['_r', null],
      ],
    ],
    ['a "{{path:My Documents}}"', [['path', 'My Documents']]],
    ['a {{{x}}}', [['x', null]]],
    [`a '{"k":{{n}}}'`, [['n', null]]],
    [
      'a {{constructor}} {{__proto__}}',
      [
        ['constructor', null],
        ['__proto__', null],
      ],
    ],
  ])('GB-06 placeholders of %j', (text, expected) => {
    expect(values(text)).toEqual(expected);
    expect(parseTemplate(text).problems).toEqual([]);
  });

  test('GB-06 an escaped brace opens no placeholder', () => {
    expect(words('a \\{{x}} {\\{y}}')).toEqual(['a', '{{x}}', '{{y}}']);
    expect(values('a \\{{x}} {\\{y}}')).toEqual([]);
  });
});

describe('problems', () => {
  test.each([
    ['\n# why\n\n  a b\n\n# done\n\n  # really\n', []],
    ['', ['1:1 template-empty']],
    ['\n# only a comment\n', ['1:1 template-empty']],
    [`'' a`, ['1:1 template-empty']],
    ['{{x}} a', ['1:1 template-program']],
    ['\n  ./run-{{x}} a', ['2:3 template-program']],
    [`a 'b`, ['1:3 template-quote']],
    ['a "b\nc', ['1:3 template-quote']],
    ['a "b\n{{ c', ['2:1 template-placeholder', '1:3 template-quote']],
    [`"`, ['1:1 template-quote']],
    ['a\n\n  b\nc', ['3:3 template-lines']],
    ['a \\\n b\nc', ['3:1 template-lines']],
    ['a {{ x }}', ['1:3 template-placeholder']],
    ['a {{x}', ['1:3 template-placeholder']],
    ['a {{1x}}', ['1:3 template-placeholder']],
    ['a {{}}', ['1:3 template-placeholder']],
    ['a {{x:}}', ['1:3 template-placeholder']],
    ['a {{x:b c}}', ['1:3 template-placeholder']],
    [`a {{x:'b'}}`, ['1:3 template-placeholder']],
    ['a {{{{', ['1:5 template-placeholder']],
  ])('GB-09 %j', (text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  test.each(['|', '>', '<', '&', ';', '*', '`', '(', ')', '~', '$HOME', `\${x}`, '$(date)', '$1', '$?'])(
    'GB-09 an unquoted %s is passed on with a warning',
    seen => {
      expect(words(`a ${seen}x`)).toEqual(['a', `${seen}x`]);
      expect(problems(`a ${seen}x ${seen}x`)).toContain('1:3 template-shell');
      expect(problems(`a '${seen}'`)).toEqual([]);
    },
  );

  test('GB-09 what double quotes do not protect from a shell is warned of, once', () => {
    expect(problems('a "$HOME" "`b`" "*|;" "$HOME" "\\$HOME" "5$"')).toEqual([
      '1:4 template-shell',
      '1:12 template-shell',
    ]);
  });

  test('GB-09 a prompt, a variable before the program and a comment that swallows a placeholder are warned of', () => {
    expect(problems('$ git status')).toEqual(['1:1 template-shell']);
    expect(problems('LANG=C git status')).toEqual(['1:1 template-shell']);
    expect(problems('gh issue view #{{n}}')).toEqual(['1:15 template-shell']);
    expect(problems('git log x~ a=b $ ')).toEqual([]);
  });

  test('GB-09 a megabyte of mistakes is a few findings, and hides no error of another kind', () => {
    const text = `a ${'{{ $x '.repeat(170_000)}'`;
    const found = parseTemplate(text).problems.map(problem => problem.code);
    expect(found.length).toBeLessThan(20);
    expect(found).toContain('template-quote');
    const shell = Array.from({ length: 50_000 }, (_, index) => `$x${index}`).join(' ');
    expect(problems(`a ${shell} "`).at(-1)).toContain('template-quote');
  });
});

describe('agreement with sh', () => {
  const letters = fc.stringMatching(/^[a-z0-9_./:,%+@=^éß💥-]{1,4}$/u);
  const single = fc.stringMatching(/^[a-z "\\$`|;*\n\t]{0,5}$/).map(text => `'${text}'`);
  const inDouble = fc.oneof(
    letters,
    fc.constantFrom(' ', "'", '\\\\', '\\"', '\\$', '\\`', '\\a', "\\'", '\\\n', '\n', '\t', '|', '#'),
  );
  const double = fc.array(inDouble, { maxLength: 5 }).map(parts => `"${parts.join('')}"`);
  const escaped = fc.constantFrom('\\a', '\\ ', '\\\\', "\\'", '\\"', '\\$', '\\;', '\\#', '\\{', '\\\n', '\\é');
  const space = fc.constantFrom(' ', '  ', '\t', ' \\\n ');
  const template = fc
    .array(fc.oneof(letters, single, double, escaped, space), { maxLength: 10 })
    .map(parts => parts.join(''));

  test.skipIf(process.platform === 'win32')('GB-06 a template without placeholders is split as sh splits it', () => {
    // Many in one shell: to start one takes longer than all else here.
    fc.assert(
      fc.property(fc.array(template, { minLength: 1, maxLength: 40, size: 'max' }), texts => {
        const commands = texts.map(text => `printf '%s\\0' first ${text}`);
        const script = commands.join("\nprintf '\\001'\n");
        const shell = spawnSync('sh', ['-c', script], { encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } });
        expect(shell.stderr).toBe('');
        const ours = commands.map(command =>
          words(command)
            .slice(2)
            .map(word => `${word}\0`)
            .join(''),
        );
        expect(ours).toEqual(shell.stdout.split('\u0001'));
      }),
      { numRuns: 40 },
    );
  });
});
