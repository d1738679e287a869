import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern, matches, takeApart } from '../../src/skill/glob.ts';
import {
  defaultRules,
  IGNORE_FILE,
  type IgnoreRules,
  loadIgnoreRules,
  MAX_IGNORE_BYTES,
  MAX_IGNORE_PATTERNS,
} from '../../src/skill/ignore.ts';
import { isSecretFile } from '../../src/skill/secret-files.ts';

function load(text: string | Buffer): { rules: IgnoreRules; problem: string | null } {
  const content = Buffer.from(text);
  return loadIgnoreRules(content.length, () => content);
}
const rulesOf = (...lines: string[]): IgnoreRules => load(lines.join('\n')).rules;

describe('SB-12 .skillboxignore understands the usual patterns of gitignore', () => {
  const cases: [pattern: string, path: string, ignored: boolean][] = [
    ['a.txt', 'a.txt', true],
    ['a.txt', 'deep/er/a.txt', true],
    ['a.txt', 'a.txt.bak', false],
    ['/a.txt', 'a.txt', true],
    ['/a.txt', 'deep/a.txt', false],
    ['docs/a.txt', 'docs/a.txt', true],
    ['docs/a.txt', 'x/docs/a.txt', false],
    ['docs/', 'docs/x/y.md', true],
    ['docs/', 'x/docs/y.md', true],
    ['docs/', 'docs', false],
    ['docs', 'docs', true],
    ['/docs/', 'x/docs/y.md', false],
    ['*.log', 'x/y.log', true],
    ['*.log', 'x.log/y', true],
    ['*.log', 'log', false],
    ['*', 'a', true],
    ['a*c', 'abbbc', true],
    ['a*c', 'a/c', false],
    ['a**c', 'abc', true],
    ['docs/*.md', 'docs/a.md', true],
    ['docs/*.md', 'docs/x/a.md', false],
    ['?.md', 'a.md', true],
    ['?.md', 'ab.md', false],
    ['?', '😀', true],
    ['**/foo', 'foo', true],
    ['**/foo', 'a/b/foo', true],
    ['foo/**', 'foo/a/b', true],
    ['foo/**', 'foo', false],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'b', false],
    ['a/**/**/b', 'a/x/b', true],
    ['**', 'a/b', true],
    ['[abc].md', 'b.md', true],
    ['[abc].md', 'd.md', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[^a-c]x', 'dx', true],
    ['[]]', ']', true],
    ['[a-]', '-', true],
    ['[a', '[a', true],
    ['\\#x', '#x', true],
    ['\\!x', '!x', true],
    ['\\*', 'a', false],
    ['\\*', '*', true],
    ['#x', '#x', false],
    ['x   ', 'x', true],
    ['x\\ ', 'x ', true],
    ['x\r', 'x', true],
    ['', 'a', false],
    ['/', 'a', false],
    ['!', 'a', false],
  ];
  test.each(cases)('%j on %j: %j', (pattern, path, ignored) => {
    expect(rulesOf(pattern).judge(path)).toBe(ignored ? 'ignored' : 'taken');
  });

  test('the last rule that matches wins', () => {
    const rules = rulesOf('*.md', '!keep.md', 'sub/keep.md');
    expect(rules.judge('a.md')).toBe('ignored');
    expect(rules.judge('keep.md')).toBe('taken');
    expect(rules.judge('sub/keep.md')).toBe('ignored');
  });

  test('as in git, nothing comes back from inside an ignored directory', () => {
    expect(rulesOf('docs/', '!docs/keep.md').judge('docs/keep.md')).toBe('ignored');
    expect(rulesOf('docs/*', '!docs/keep.md').judge('docs/keep.md')).toBe('taken');
  });

  test('a byte order mark and CRLF are no part of a pattern', () => {
    const { rules } = load('\ufeffa.txt\r\nb.txt\r\n');
    expect([rules.judge('a.txt'), rules.judge('b.txt'), rules.judge('c.txt')]).toEqual(['ignored', 'ignored', 'taken']);
  });

  test('X-10 it cannot ignore itself: its zip would be read by other rules', () => {
    expect(rulesOf('*').judge(IGNORE_FILE)).toBe('taken');
    expect(rulesOf('*').judge(`sub/${IGNORE_FILE}`)).toBe('ignored');
  });
});

describe('SB-12 what tools leave behind is left out', () => {
  test.each([
    ...'.git/config .git .hg/x .svn/x node_modules/a/index.js sub/node_modules/a __pycache__/a.pyc a.pyc'.split(' '),
    ...'.venv/bin/python venv/bin/python .DS_Store x/.DS_Store ._a __MACOSX/a Thumbs.db .idea/x'.split(' '),
    ...'.vscode/settings.json .a.swp a.md~ .pytest_cache/x'.split(' '),
    'Icon\r',
  ])('%j', path => expect(defaultRules().judge(path)).toBe('ignored'));

  test.each([
    ...'SKILL.md .gitignore .github/x.yml venv node_modules.md dist/a.js pyc a.dist-info/RECORD .env.example'.split(
      ' ',
    ),
    IGNORE_FILE,
  ])('%j is kept', path => expect(defaultRules().judge(path)).toBe('taken'));

  test('a negation brings it back', () => {
    const rules = rulesOf('!node_modules', '!.vscode/');
    expect(rules.judge('node_modules/a/index.js')).toBe('taken');
    expect(rules.judge('.vscode/settings.json')).toBe('taken');
    expect(rules.judge('node_modules/a/x.pyc')).toBe('ignored');
  });
});

describe('SB-12 secrets are left out', () => {
  const secret = [
    ...'.env .ENV .env.local .env.production .env.example.local .npmrc .netrc _netrc .pypirc id_rsa'.split(' '),
    ...'id_rsa.bak id_ed25519 id_ed25519_work id_ecdsa_sk key.pem server-key.pem privkey1.pem private.pem'.split(' '),
    ...'tls.key cert.p12 .git-credentials .pgpass'.split(' '),
  ];
  test.each(secret)('%s', name => {
    expect(isSecretFile(name)).toBe(true);
    expect(defaultRules().judge(`deep/${name}`)).toBe('secret');
  });

  test.each([
    ...'.env.example .env.sample .env.template .environment env id_rsa.pub id_rsa.md id_card.png cert.pem'.split(' '),
    ...'ca-bundle.pem public-key.pem pubkey.pem slides.key monkey.pem npmrc keys.md'.split(' '),
  ])('%s is none', name => expect(isSecretFile(name)).toBe(false));

  test('no negation brings one back', () => {
    expect(rulesOf('!.env', '!*').judge('.env')).toBe('secret');
    expect(rulesOf('!**').judge('a/id_rsa')).toBe('secret');
  });

  test('one that is named in .skillboxignore is left out in silence', () => {
    expect(rulesOf('.env').judge('.env')).toBe('ignored');
    expect(rulesOf('.env*', '!.env.example').judge('.env.example')).toBe('taken');
    expect(rulesOf('config/').judge('config/.env')).toBe('ignored');
  });
});

describe('SB-12 hostile patterns are harmless', () => {
  test('a file over 64 KiB or of over 1,000 patterns is not followed, and says so', () => {
    expect(loadIgnoreRules(MAX_IGNORE_BYTES + 1, () => expect.unreachable('read although too large')).problem).toMatch(
      /64 KiB/,
    );
    const many = load('a\n'.repeat(MAX_IGNORE_PATTERNS + 1));
    expect(many.problem).toMatch(/1000 patterns/);
    expect(many.rules.judge('a')).toBe('taken');
    expect(load('a\n'.repeat(MAX_IGNORE_PATTERNS)).problem).toBeNull();
    expect(load('# comment\n'.repeat(MAX_IGNORE_PATTERNS + 1)).problem).toBeNull();
  });

  test('ten thousand stars are one', () => {
    const work = { left: 1000 };
    expect(matches(compilePattern(`a${'*'.repeat(10_000)}b`), takeApart(`a${'x'.repeat(200)}b`), work)).toBe(true);
    expect(matches(compilePattern(`${'**/'.repeat(10_000)}b`), takeApart('x/y/b'), work)).toBe(true);
    expect(work.left).toBeGreaterThan(0);
  });

  test('what makes backtracking matchers explode takes at most pattern × name steps', () => {
    const work = { left: 1_000_000 };
    const pattern = `${'*a'.repeat(100)}b`;
    expect(matches(compilePattern(pattern), takeApart('a'.repeat(255)), work)).toBe(false);
    expect(1_000_000 - work.left).toBeLessThanOrEqual((pattern.length + 1) * 256 * 2);
    const deep = Array(16).fill('a').join('/');
    expect(matches(compilePattern(`${'**/a/'.repeat(100)}b`), takeApart(deep), work)).toBe(false);
    expect(work.left).toBeGreaterThan(0);
  });

  test('a long class is counted too', () => {
    const work = { left: 100_000 };
    matches(compilePattern(`*[${'b'.repeat(10_000)}]`), takeApart('a'.repeat(255)), work);
    expect(work.left).toBeLessThan(0);
  });

  test('the sum of all matching is bounded, and exhaustion is told', () => {
    const rules = rulesOf(...Array<string>(1000).fill(`*${'?'.repeat(60)}b`));
    expect(rules.exhausted).toBe(false);
    for (let at = 0; at < 2000 && !rules.exhausted; at++) rules.judge(`${'a'.repeat(250)}${at}`);
    expect(rules.exhausted).toBe(true);
  });

  test('any text loads and judges without an exception', () => {
    const bits = fc.constantFrom(
      '*',
      '**',
      '?',
      '[',
      ']',
      '!',
      '\\',
      '/',
      '-',
      '#',
      ' ',
      'a',
      'b',
      '\n',
      '\0',
      '😀',
      '\ud800',
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 60 }), fc.array(bits, { minLength: 1, maxLength: 10 }), (text, path) => {
        expect(['taken', 'ignored', 'secret']).toContain(load(text.join('')).rules.judge(path.join('')));
      }),
      { numRuns: 2000 },
    );
  });

  test('it agrees with a naive matcher', () => {
    const point = fc.constantFrom('a', 'b', '/', '*', '?');
    fc.assert(
      fc.property(
        fc.array(point, { minLength: 1, maxLength: 8 }),
        fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 6 }),
        (glyphs, name) => {
          const pattern = glyphs.join('').replaceAll('/', '');
          if (pattern === '' || pattern === '**') return;
          const naive = (p: string, s: string): boolean =>
            p === ''
              ? s === ''
              : p[0] === '*'
                ? naive(p.slice(1), s) || (s !== '' && naive(p, s.slice(1)))
                : s !== '' && (p[0] === '?' || p[0] === s[0]) && naive(p.slice(1), s.slice(1));
          const subject = name.join('');
          expect(matches(compilePattern(pattern), takeApart(subject), { left: 10_000 })).toBe(naive(pattern, subject));
        },
      ),
      { numRuns: 2000 },
    );
  });
});
