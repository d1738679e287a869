import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SignedBlob, signBlobUrl, verifyBlobUrl } from '../../src/base/index.ts';

const KEY = randomBytes(32);
const NOW = 1_700_000_000_000;
const BLOB: SignedBlob = {
  sha256: 'a'.repeat(64),
  filename: 'report.html',
  contentType: 'text/html',
  tenant: 'acme',
  expires: NOW / 1000 + 60,
};

const blobs = fc.record({
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
  filename: fc.string({ unit: 'binary', maxLength: 40 }),
  contentType: fc.string({ maxLength: 20 }),
  tenant: fc.string({ maxLength: 10 }),
  expires: fc.integer({ min: NOW / 1000 + 1, max: NOW / 1000 + 604_800 }),
});

const parse = (url: string) => {
  const { pathname, searchParams } = new URL(url, 'http://server');
  return { sha256: pathname.split('/').pop() ?? '', query: searchParams };
};
const verify = (url: string, key = KEY, now = NOW) => {
  const { sha256, query } = parse(url);
  return verifyBlobUrl(key, sha256, query, now);
};

describe('SB-09 a signed URL of ours', () => {
  test('says what was signed', () => {
    fc.assert(
      fc.property(blobs, blob => {
        expect(verify(signBlobUrl(KEY, blob))).toEqual({ ...blob, filename: blob.filename.toWellFormed() });
      }),
    );
    const lone = { ...BLOB, filename: 'a\ud800b' };
    expect(verify(signBlobUrl(KEY, lone))?.filename).toBe('a\ufffdb');
  });

  test('is refused with anything of it altered, left out, doubled or added', () => {
    const names = ['filename', 'type', 'tenant', 'expires', 'signature'];
    const ways = fc.constantFrom('alter', 'drop', 'double', 'add', 'blob');
    const cases = fc.record({ blob: blobs, way: ways, name: fc.constantFrom(...names), text: fc.string() });
    fc.assert(
      fc.property(cases, ({ blob, way, name, text }) => {
        const { sha256, query } = parse(signBlobUrl(KEY, blob));
        const was = query.get(name) ?? '';
        if (way === 'alter') {
          fc.pre(text !== was);
          query.set(name, text);
        } else if (way === 'drop') query.delete(name);
        else if (way === 'double') query.append(name, text);
        else if (way === 'add') query.append(`x${name}`, text);
        const asked = way === 'blob' ? sha256.replace(/^./, first => (first === '0' ? '1' : '0')) : sha256;
        expect(verifyBlobUrl(KEY, asked, query, NOW)).toBeNull();
      }),
    );
  });

  test('is refused with any one character of its text altered', () => {
    const url = signBlobUrl(KEY, BLOB);
    for (let at = '/v1/blobs/'.length; at < url.length; at++) {
      const other = url.slice(0, at) + (url[at] === 'B' ? 'C' : 'B') + url.slice(at + 1);
      expect(verify(other), other).toBeNull();
    }
  });

  test('is refused under another key', () => {
    expect(verify(signBlobUrl(KEY, BLOB), randomBytes(32))).toBeNull();
  });

  test('values cannot flow into each other', () => {
    const signature = parse(signBlobUrl(KEY, { ...BLOB, filename: 'ab', contentType: 'c' })).query.get('signature');
    const other = parse(signBlobUrl(KEY, { ...BLOB, filename: 'a', contentType: 'bc' })).query.get('signature');
    expect(signature).not.toBe(other);
  });

  test('ends when it says, to the second', () => {
    const url = signBlobUrl(KEY, BLOB);
    expect(verify(url, KEY, BLOB.expires * 1000 - 1)).not.toBeNull();
    expect(verify(url, KEY, BLOB.expires * 1000)).toBeNull();
  });

  test.each(['0', '-1', '1e12', '01800000000', ' 1800000000', '9999999999999', 'NaN', ''])(
    'an expiry written as %j is refused even when it is signed',
    expires => {
      const { sha256, query } = parse(signBlobUrl(KEY, { ...BLOB, expires: Number(expires) }));
      query.set('expires', expires);
      expect(verifyBlobUrl(KEY, sha256, query, NOW)).toBeNull();
    },
  );
});
