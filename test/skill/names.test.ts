import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkPath,
  foldName,
  MAX_DEPTH,
  MAX_PATH_BYTES,
  MAX_SEGMENT_BYTES,
  NameIndex,
  showPath,
} from '../../src/skill/names.ts';

describe('X-08 checkPath lets ordinary names through', () => {
  const good = [
    'SKILL.md',
    'scripts/main.py',
    '.hidden',
    '..a',
    'a..b',
    '-rf',
    '__proto__',
    'a b/c d.txt',
    "it's",
    '#1',
    '$x',
    'é',
    'e\u0301',
    '日本語/説明.md',
    'ñ'.repeat(100),
    '😀.txt',
    '👨‍👩‍👧.png',
    '❤️.md',
    'console.txt',
    'com',
    'com10',
    'nul-x',
    'x'.repeat(MAX_SEGMENT_BYTES),
    Array(MAX_DEPTH).fill('d').join('/'),
  ];
  test.each(good)('%j', path => expect(checkPath(path)).toBeNull());
});

describe('X-08 checkPath refuses names that are dangerous somewhere', () => {
  const bad: [string, RegExp][] = [
    ['', /^is empty$/],
    ['/etc/passwd', /absolute/],
    ['//server/share', /UNC/],
    ['\\\\server\\share', /UNC/],
    ['C:/x', /drive letter/],
    ['c:x', /drive letter/],
    ['a\\b', /backslash/],
    ['..\\x', /backslash/],
    ['..', /\.\. segment/],
    ['../x', /\.\. segment/],
    ['a/../b', /\.\. segment/],
    ['a/..', /\.\. segment/],
    ['.', /\. segment/],
    ['./a', /\. segment/],
    ['a//b', /empty segment/],
    ['a/', /empty segment/],
    ['a\0b', /NUL/],
    ['a\nb', /U\+000A/],
    ['a\tb', /U\+0009/],
    ['\x1b[31mred', /U\+001B/],
    ['a\x7f', /U\+007F/],
    ['a\u0085', /U\+0085/],
    ['\u202etxt.exe', /U\+202E/],
    ['a\u200bb', /U\+200B/],
    ['a\u2066b', /U\+2066/],
    ['\ufeffa', /U\+FEFF/],
    ['a\u{e0041}', /U\+E0041/],
    ['a\u3164', /U\+3164/],
    ['a\u{e0101}', /U\+E0101/],
    ['a\ufe0f', /U\+FE0F/],
    ['a\u200d', /U\+200D/],
    ['a\ud800', /UTF-8/],
    ['a\ufffdb', /UTF-8/],
    ...['con', 'CON', 'nul.txt', 'aux.tar.gz', 'Com1', 'lpt9.md', 'com¹', 'conin$', 'con .txt', 'a/prn/b'].map(
      (name): [string, RegExp] => [name, /Windows reserves/],
    ),
    ['SKILL.md.', /dot or a space/],
    ['SKILL.md ', /dot or a space/],
    ['a./b', /dot or a space/],
    ['...', /dot or a space/],
    ['SKILL.md:hidden', /holds :/],
    ['a*', /holds \*/],
    ['a|b', /holds \|/],
    ['x'.repeat(MAX_SEGMENT_BYTES + 1), /longer than 255/],
    ['ñ'.repeat(MAX_SEGMENT_BYTES / 2 + 1), /longer than 255/],
    [`${'ñ'.repeat(100)}/`.repeat(6), /longer than 1024/],
    ['x'.repeat(1024 * 1024), /longer than 1024/],
    [
      Array(MAX_DEPTH + 1)
        .fill('d')
        .join('/'),
      /deeper than 16/,
    ],
  ];
  test.each(bad.map(([path, reason]) => [path.slice(0, 40), path, reason] as const))('%j', (_short, path, reason) =>
    expect(checkPath(path)).toMatch(reason),
  );
});

test('X-08 a path that checkPath accepts stays inside any root and in one line', () => {
  const risky = fc.constantFrom(
    '.',
    '..',
    '/',
    '\\',
    '\0',
    '\n',
    ':',
    'a',
    'B',
    ' ',
    'con',
    '\u202e',
    'é',
    '\ud800',
    '~',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(risky, fc.string({ unit: 'binary' })), { maxLength: 12 }), parts => {
      const path = parts.join('');
      if (checkPath(path) !== null) return;
      const resolved = new URL(encodeURIComponent(path).replaceAll('%2F', '/'), 'file:///root/of/skill/').pathname;
      expect(resolved.startsWith('/root/of/skill/')).toBe(true);
      expect(path).not.toMatch(/[\0-\x1f\\]/);
      expect(Buffer.from(path).toString()).toBe(path);
      expect(Buffer.byteLength(path)).toBeLessThanOrEqual(MAX_PATH_BYTES);
      expect(showPath(path)).not.toMatch(/[\n\t\u202e]/);
    }),
    { numRuns: 2000 },
  );
});

describe('X-08 foldName makes equal what some file system holds for equal', () => {
  test.each([
    ['README.md', 'readme.MD'],
    ['é', 'e\u0301'],
    ['É', 'e\u0301'],
    ['straße', 'STRASSE'],
    ['ſkill', 'skill'],
    ['\u212a', 'k'],
    ['ΣΑΣ', 'σας'],
    ['Å', '\u212b'],
    ['ﬀ', 'ff'],
    ['\u1f80', '\u03b1\u0345\u0313'],
  ])('%j and %j', (a, b) => expect(foldName(a)).toBe(foldName(b)));

  test('and nothing else', () => {
    expect(foldName('a/b')).not.toBe(foldName('a_b'));
    expect(foldName('é')).not.toBe(foldName('e'));
  });
});

describe('X-08 NameIndex finds collisions of files and of the directories above them', () => {
  const collide = (...names: string[]): string | null => {
    const index = new NameIndex();
    let last: string | null = null;
    for (const name of names) last = index.add(name, 'file');
    return last;
  };

  test.each([
    [['a', 'a'], 'a'],
    [['README.md', 'readme.md'], 'README.md'],
    [['é', 'e\u0301'], 'é'],
    [['a', 'a/b'], 'a'],
    [['a/b', 'a'], 'a'],
    [['A/x', 'a/y'], 'A'],
    [['d/A/x', 'd/a/y/z'], 'd/A'],
    [['a/b', 'A'], 'a'],
    [['__proto__/x', '__PROTO__/y'], '__proto__'],
  ])('%j', (names, met) => expect(collide(...names)).toBe(met));

  test('what lies side by side does not collide', () => {
    expect(collide('a/x', 'a/y', 'ab', 'b/x', 'a/x2')).toBeNull();
    expect(collide('constructor', 'toString', '__proto__')).toBeNull();
  });

  test('a directory may come again, but not as a file', () => {
    const index = new NameIndex();
    expect(index.add('a', 'directory')).toBeNull();
    expect(index.add('a', 'directory')).toBeNull();
    expect(index.add('a/b', 'file')).toBeNull();
    expect(index.add('A', 'directory')).toBe('a');
    expect(index.add('a', 'file')).toBe('a');
  });
});
