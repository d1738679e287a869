import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findHidden, suggest, visible, visibleLine } from '../../src/base/index.ts';

describe('hidden characters', () => {
  test.each([
    ['zero width space', 'a\u200bb'],
    ['bidi override', 'a\u202eb'],
    ['tag character', 'a\u{e0041}b'],
    ['escape', 'a\u001b[31mb'],
    ['C1 control', 'a\u009bb'],
    ['line separator', 'a\u2028b'],
    ['byte order mark inside', 'a\ufeffb'],
    ['soft hyphen', 'a\u00adb'],
    ['word joiner', 'a\u2060b'],
  ])('%s is found and made visible', (_name, text) => {
    expect(findHidden(text)?.index).toBe(1);
    expect(visible(text)).toMatch(/^a<U\+[0-9A-F]+>/);
  });

  test.each([
    ['plain', 'Use when: tabs\tand\nnewlines'],
    ['accents', 'Überprüfung déjà vu'],
    ['Chinese', '处理文档'],
    ['a family of emoji joined', '👨‍👩‍👧'],
    ['a flag made of tags', '🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
    ['an emoji with skin tone and joiner', '👩🏽‍💻'],
  ])('%s is not', (_name, text) => {
    expect(findHidden(text)).toBeNull();
  });

  test.each([0x034f, 0x115f, 0x17b4, 0x180b, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xffa0, 0x1d173, 0xe0100, 0xe01ef])(
    'what draws nothing is made visible: %i',
    point => {
      const shown = `<U+${point.toString(16).toUpperCase().padStart(4, '0')}>`;
      expect(visible(`code-review${String.fromCodePoint(point)}`)).toBe(`code-review${shown}`);
      expect(visibleLine(`code-review${String.fromCodePoint(point)}`)).toBe(`code-review${shown}`);
    },
  );

  test('emoji and combining letters stay as they are', () => {
    for (const text of ['✈\ufe0f done', '1\ufe0f\u20e3', 'e\u0301', '日本語', '\t⠋ x\n'])
      expect(visible(text)).toBe(text);
    expect(visible('👍\ufe0f\ufe0f')).toBe('👍\ufe0f<U+FE0F>');
  });

  test('nothing hidden survives being made visible', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        expect(findHidden(visible(text))).toBeNull();
      }),
    );
  });

  test('one line stays one line of bounded length', () => {
    expect(visibleLine('a\n\n b\u001b[2Jc')).toBe('a b<U+001B>[2Jc');
    expect(visibleLine('x'.repeat(10_000), 10)).toBe(`${'x'.repeat(9)}…`);
  });
});

describe('suggestions', () => {
  test.each([
    ['lnit', ['lint', 'show'], 'lint'],
    ['desciption', ['description', 'name'], 'description'],
    ['zzz', ['lint', 'show'], null],
  ])('%s among %j is %s', (word, candidates, meant) => {
    expect(suggest(word, candidates)).toBe(meant);
  });
});
