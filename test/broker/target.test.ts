import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesPattern, parsePath, parseUrl, splitPath } from '../../src/broker/target.ts';

const ORIGIN = { scheme: 'https' as const, host: 'api.test', port: 443 };

describe('URLs', () => {
  test.each([
    ['https://api.test/a/b?c=d', { scheme: 'https', host: 'api.test', port: 443, path: '/a/b', query: '?c=d' }],
    ['http://api.test', { scheme: 'http', host: 'api.test', port: 80, path: '/', query: '' }],
    ['HTTPS://API.test:8443/?x', { scheme: 'https', host: 'api.test', port: 8443, path: '/', query: '?x' }],
    ['https://api.test?x=1', { scheme: 'https', host: 'api.test', port: 443, path: '/', query: '?x=1' }],
  ])('%s', (text, target) => expect(parseUrl(text)).toEqual(target));

  test.each([
    '',
    'api.test/x',
    'ftp://api.test/',
    'https:/api.test/',
    'https:///x',
    'https://user@api.test/',
    'https://api.test:443@evil.test/',
    'https://api.test\\@evil.test/',
    'https://api.test/\\evil',
    'https://api.test//evil.test',
    'https://api.test/a#b',
    'https://api.test/a b',
    'https://api.test/a\nb',
    'https://api.test/\u00e4',
    'https://api.test./',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::ffff:1.2.3.4]/',
    'https://api.test:0/',
    'https://api.test:70000/',
  ])('refused: %j', text => expect(parseUrl(text)).toHaveProperty('refused'));

  test('what is accepted means the same to the URL parser of the platform', () => {
    const piece = fc.string({ unit: fc.constantFrom(...'ab/.%25@:;\\?#&=-_~\u00e4 \n'.split('')), maxLength: 12 });
    fc.assert(
      fc.property(fc.constantFrom('https://', 'http://'), piece, piece, (scheme, host, rest) => {
        const text = `${scheme}${host}.test${rest}`;
        const target = parseUrl(text);
        if ('refused' in target) return;
        const url = new URL(text);
        expect(`${target.scheme}:`).toBe(url.protocol);
        expect(target.host).toBe(url.hostname);
        expect(target.port).toBe(Number(url.port || (url.protocol === 'https:' ? 443 : 80)));
        // Where the platform would normalise a path, no pattern may see it.
        if (!('refused' in splitPath(target.path))) expect(target.path).toBe(url.pathname);
      }),
      { numRuns: 2000 },
    );
  });

  test('a path is one path, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), text => {
        const target = parsePath(ORIGIN, `/${text}`);
        if ('refused' in target) return;
        expect(target.path + target.query).toBe(`/${text}`);
        expect(target).toMatchObject(ORIGIN);
      }),
    );
  });
});

describe('SK-08 path patterns', () => {
  test.each([
    ['/v1/messages', '/v1/messages', true],
    ['/v1/messages', '/v1/messages/', false],
    ['/v1/messages', '/v1/messages/x', false],
    ['/v1/messages', '/v1/Messages', false],
    ['/v1/files/*', '/v1/files/a', true],
    ['/v1/files/*', '/v1/files/', false],
    ['/v1/files/*', '/v1/files/a/b', false],
    ['/v1/files/*', '/v1/files/a%20b', true],
    ['/v1/files/*/content', '/v1/files/a/content', true],
    ['/repos/**', '/repos/a', true],
    ['/repos/**', '/repos/a/b/c', true],
    ['/repos/**', '/repos', false],
    ['/', '/', true],
    ['/', '/x', false],
    ['/models/*', '/models/gemini-x:generateContent', true],
  ])('%s takes %s: %s', (pattern, path, fits) => {
    const segments = splitPath(path);
    expect(!('refused' in segments) && matchesPattern(segments, pattern)).toBe(fits);
  });

  test.each([
    '/a//b',
    '/a/./b',
    '/a/../b',
    '/..',
    '/%2e%2e/',
    '/a%2fb',
    '/a%5Cb',
    '/%61',
    '/a%',
    '/a%0',
    '/a%00',
    '/a;b',
    '/%7e',
    '/a%3bb',
    '/a%25b',
  ])('two programs could read %s differently', path => expect(splitPath(path)).toHaveProperty('refused'));
});
