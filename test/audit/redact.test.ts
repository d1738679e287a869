import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactArgv } from '../../src/audit/index.ts';

const SECRET = 'hunter2hunter2';
const TOKENS = [
  'sk-proj-abcdefghijklmnopqrstuvwx',
  'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'github_pat_11ABCDEFG0abcdefghijkl_mnop',
  'glpat-abcdefghij0123456789',
  'xoxb-1234567890-abcdef',
  'AKIAABCDEFGHIJKLMNOP',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
];

describe('the arguments that the journal keeps', () => {
  test.each([
    [['curl', '--token', SECRET]],
    [['curl', `--token=${SECRET}`]],
    [['mysql', '--password', SECRET, 'db']],
    [['tool', '-api-key', SECRET]],
    [['tool', `--apiKey=${SECRET}`]],
    [['tool', `API_KEY=${SECRET}`]],
    [['tool', `client_secret=${SECRET}`]],
    [['curl', '-H', `Authorization: Bearer ${SECRET}`]],
    [['curl', '-H', `X-Auth-Token: ${SECRET}`]],
    [['git', 'clone', `https://user:${SECRET}@host/x.git`]],
    [['curl', `https://host/x?a=1&access_token=${SECRET}&b=2`]],
    [['tool', `{"user":"a","password":"${SECRET}"}`]],
    [['tool', `Bearer ${SECRET}`]],
  ])('%j: the secret is cut', argv => {
    const kept = redactArgv(argv);
    expect(kept.join(' ')).not.toContain(SECRET);
    expect(kept.join(' ')).toContain('[cut]');
    expect(kept[0]).toBe(argv[0]);
  });

  test.each(TOKENS)('%s is known by its form, wherever it stands', token => {
    for (const word of [token, `a ${token} b`, `--header=x:${token}`, `"${token}"`])
      expect(redactArgv(['x', word]).join(' ')).not.toContain(token);
  });

  test('a private key is cut to its end', () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----';
    expect(redactArgv(['x', key])).toEqual(['x', '[cut]']);
  });

  test.each([
    [['git', 'log', '--oneline', '-n', '5']],
    [['python3', '/sandbox/scripts/main.py']],
    [['x', '--monkey', 'banana']],
  ])('%j is kept as it is', argv => expect(redactArgv(argv)).toEqual(argv));

  test('what is long is shortened, and what is many is counted', () => {
    expect(redactArgv(['a'.repeat(100_000)])[0]).toMatch(/^a{512}… \(100000 characters\)$/);
    const many = redactArgv(Array.from({ length: 1000 }, (_, at) => String(at)));
    expect(many).toHaveLength(65);
    expect(many.at(-1)).toBe('… and 936 more');
  });

  test('hostile words cost little', () => {
    for (const piece of ['a', 'a:', 'sk-', '"a":"', 'a=', '\\', 'eyJ', 'http://', '-----BEGIN ', '&a=', 'a-'])
      redactArgv(Array.from({ length: 64 }, () => piece.repeat(100_000 / piece.length)));
  });

  test('a token between any other text is cut', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TOKENS), fc.string(), fc.string(), (token, before, after) => {
        expect(redactArgv([`${before} ${token} ${after}`])[0]).not.toContain(token);
      }),
    );
  });
});
