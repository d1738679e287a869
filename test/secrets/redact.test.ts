import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/base/index.ts';
import { createRedactor, type Redactor } from '../../src/secrets/index.ts';

function redactorOf(...values: string[]): Redactor {
  const redactor = createRedactor(values.map((value, index) => ({ name: `s${index}`, value })));
  if (redactor === null) throw new Error('there is nothing to look for');
  return redactor;
}

/** In chunks of the given lengths, again and again. */
function feed(redactor: Redactor, bytes: Buffer, lengths: readonly number[]): Buffer {
  const stream = redactor.stream();
  const parts: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    // A memory that is used again, as pipes do.
    const chunk = Buffer.from(bytes.subarray(at, at + length));
    parts.push(Buffer.from(stream.write(chunk)));
    chunk.fill(0x7a);
    at += length;
  }
  parts.push(stream.flush());
  return Buffer.concat(parts);
}

/** Written out here by hand, so that a mistake of the code's own table is seen. */
const ENCODINGS: Record<string, (value: string) => string> = {
  literal: value => value,
  base64: value => Buffer.from(value).toString('base64'),
  'base64, one byte before': value => Buffer.from(`x${value}`).toString('base64'),
  'base64, two bytes before': value => Buffer.from(`xy${value}z`).toString('base64'),
  'base64url, inside': value => Buffer.from(`key=${value};`).toString('base64url'),
  hex: value => Buffer.from(value).toString('hex'),
  'upper hex': value => Buffer.from(value).toString('hex').toUpperCase(),
  'URL component': value => encodeURIComponent(value),
  'form field': value => new URLSearchParams({ key: value }).toString(),
  'URL with small hex': value => encodeURIComponent(value).replace(/%../g, code => code.toLowerCase()),
  JSON: value => JSON.stringify({ key: value }),
  'JSON in ASCII': value =>
    JSON.stringify(value).replace(/[\u007f-\uffff]/g, each => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'JSON with escaped slashes': value => JSON.stringify(value).replaceAll('/', '\\/'),
};

/** What of an encoding must not be left: all but what its neighbours decide. */
function heartOf(encoding: string, value: string): string {
  const text = ENCODINGS[encoding]?.(value) ?? '';
  if (!encoding.startsWith('base64'))
    return encoding === 'form field' ? text.slice(4) : text.replace(/^(?:\{"key":)?"|"\}?$/g, '');
  return text.replace(/=+$/, '').slice(encoding === 'base64' ? 0 : encoding === 'base64url, inside' ? 6 : 3, -3);
}

const value = fc.oneof(
  fc.string({ minLength: 8, maxLength: 80, unit: 'grapheme-ascii' }),
  fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme' }),
  fc.string({ minLength: 8, maxLength: 40, unit: fc.constantFrom('a', 'b', '/', '+', '"', '\\', '%', ' ') }),
);
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
const around = fc.string({ maxLength: 60, unit: 'binary' });

describe('scrubbing', () => {
  test.each(Object.keys(ENCODINGS))('SK-10 a value does not survive as %s, however it is cut', encoding => {
    fc.assert(
      fc.property(value, around, around, lengths, (secret, before, after, cut) => {
        const text = ENCODINGS[encoding]?.(secret) ?? '';
        const clean = feed(redactorOf(secret), Buffer.from(`${before}${text}${after}`), cut);
        expect(clean.includes(heartOf(encoding, secret))).toBe(false);
        expect(clean.includes('<secret:s0>')).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test.each([
    ['base64', 76, '\n'],
    ['base64', 64, '\r\n'],
    ['hex', 60, '\n'],
    ['upper hex', 72, '\n'],
  ])('SK-10 a long value does not survive as %s in lines of %i', (encoding, width, lineEnd) => {
    const long = fc.string({ minLength: 50, maxLength: 300, unit: 'grapheme-ascii' });
    fc.assert(
      fc.property(long, fc.string({ maxLength: 50, unit: 'grapheme-ascii' }), lengths, (secret, before, cut) => {
        const text = ENCODINGS[encoding]?.(`${before}${secret}`) ?? '';
        const lines = text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(lineEnd) ?? '';
        const clean = feed(redactorOf(secret), Buffer.from(`in lines:\n${lines}\nand more\n`), cut).toString();
        const left = clean.replaceAll(/[\r\n]/g, '');
        const heart = (ENCODINGS[encoding]?.(secret) ?? '').slice(4, 24);
        if (encoding !== 'base64' || before.length % 3 === 0) expect(left).not.toContain(heart);
        expect(left.length).toBeLessThan(text.length - secret.length + 60);
        expect(clean).toContain('<secret:s0>');
        expect(clean.endsWith('and more\n')).toBe(true);
      }),
    );
  });

  test.each([
    ['base64', 76, '\n'],
    ['base64', 64, '\r\n'],
    ['hex', 60, '\n'],
    ['upper hex', 72, '\n'],
  ] as const)('SK-10 a short value inside a text does not survive as %s in lines of %i', (encoding, width, lineEnd) => {
    const short = fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme-ascii' });
    const beside = fc.nat(100).map(length => '.'.repeat(length));
    fc.assert(
      fc.property(short, beside, beside, lengths, (secret, before, after, cut) => {
        const text = ENCODINGS[encoding]?.(`${before}${secret}${after}`) ?? '';
        const lines = text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(lineEnd) ?? '';
        const clean = feed(redactorOf(secret), Buffer.from(`${lines}\n`), cut).toString();
        expect(clean).toContain('<secret:s0>');
        expect(clean.length).toBeLessThan(lines.length - secret.length + 16);
      }),
    );
  });

  describe('SK-10 of a value with several lines no line survives', () => {
    const lines = [
      'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
      'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj',
      'MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3S',
      'dGVzdA==',
    ];
    const secret = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
    const redactor = redactorOf(secret);

    test.each([
      ['one by one', lines.map(line => `line: ${line}.`).join('\n')],
      ['with other line ends', secret.replaceAll('\n', '\r\n')],
      ['indented', secret.replace(/^/gm, '    ')],
      ['joined by spaces', lines.join(' ')],
      ['joined by nothing', lines.join('')],
      ['as lines of JSON', JSON.stringify(secret.split('\n'))],
      ['with other line ends, in base64', Buffer.from(secret.replaceAll('\n', '\r\n')).toString('base64')],
      ['indented, in hex', Buffer.from(secret.replace(/^/gm, '  ')).toString('hex')],
      ['as parts of a URL', lines.map(encodeURIComponent).join('&')],
    ])('%s', (_how, text) => {
      for (const cut of [[7], [1], [4096]]) {
        const clean = feed(redactor, Buffer.from(text), cut).toString();
        expect(clean).toContain('<secret:s0>');
        for (const form of [...lines, ...lines.map(encodeURIComponent)]) expect(clean).not.toContain(form);
        const decoded = [Buffer.from(clean, 'hex'), Buffer.from(clean, 'base64')].join();
        for (const line of lines) expect(decoded).not.toContain(line);
        // What is left of an encoding are borders, line ends and the bits between two lines.
        expect(clean.replaceAll('<secret:s0>', '').length).toBeLessThan(text.length / 2);
      }
    });

    test('whole, it is one value', () => {
      expect(redactor.text(`<${secret}>`)).toBe('<<secret:s0>>');
    });

    test('the borders of a key are no secret, and short lines are not looked for', () => {
      const text = `-----BEGIN PRIVATE KEY-----\nsomebody else's\n-----END PRIVATE KEY-----\n`;
      expect(redactor.text(text)).toBe(text);
      expect(redactorOf('user: me\npin: 12\npass: 0123456789').text('pin: 12, pass: 0123456789')).toBe(
        'pin: 12, <secret:s0>',
      );
    });

    test('with thousands of lines they are all found, and memory stays bounded', () => {
      const many = Array.from({ length: 7281 }, (_, at) => `k${(at * 7919 + 1_000_000).toString(36).padStart(7, 'z')}`);
      const before = process.memoryUsage().arrayBuffers;
      const large = redactorOf(many.join('\n'));
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(160 * 1024 ** 2);
      const printed = many.map(line => `${line},`).join('');
      expect(large.text(printed)).toBe('<secret:s0>,'.repeat(many.length));
      const log = Buffer.from('the server answered 200 for GET /v1/models in 12 ms\n'.repeat(80_000));
      expect(feed(large, log, [65_536]).length).toBe(log.length);
    });
  });

  test('SK-10 what holds no value is unchanged, byte for byte, however it is cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), lengths, (bytes, cut) => {
        const redactor = redactorOf('a value that nobody wrote', 'another/one+with=marks', 'long '.repeat(20));
        expect(feed(redactor, Buffer.from(bytes), cut)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('SK-10 near misses are unchanged too, also at the end', () => {
    const secret = 'abcabcabcabd';
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('abc', 'ab', 'a', 'abcabcabcab', 'd', '%', '\\u0061')),
        lengths,
        (words, cut) => {
          const text = words.join('');
          fc.pre(!text.includes(secret));
          expect(feed(redactorOf(secret), Buffer.from(text), cut).toString()).toBe(text);
        },
      ),
    );
  });

  test('SK-10 lines that only begin like a long value are unchanged, whatever breaks them', () => {
    const secret = 'abcdefghij'.repeat(8);
    const words = [secret.slice(0, 40), secret.slice(40, 70), '\n', '\r\n', '\n\n\n', 'x'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 30 }), lengths, (parts, cut) => {
        const text = parts.join('');
        fc.pre(!text.replaceAll(/[\r\n]/g, '').includes(secret));
        expect(feed(redactorOf(secret), Buffer.from(text), cut).toString()).toBe(text);
      }),
    );
  });

  test('SK-10 the same as one replacement over the whole, whatever the chunks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('secret-one', 'secret-one-longer', 'secret', 'x', 'one')),
        lengths,
        (words, cut) => {
          const bytes = Buffer.from(words.join(''));
          const redactor = redactorOf('secret-one', 'secret-one-longer', 'longer-and-other');
          expect(feed(redactor, bytes, cut)).toEqual(feed(redactor, bytes, [bytes.length || 1]));
        },
      ),
    );
  });

  test('values that overlap leave nothing of either', () => {
    const redactor = redactorOf('12345678abcd', 'abcdefghijkl');
    expect(redactor.text('<12345678abcdefghijkl>')).toBe('<<secret:s0>>');
    expect(redactor.text('12345678abcd12345678abcd')).toBe('<secret:s0><secret:s0>');
    expect(redactorOf('aaaaaaaa').text(`${'a'.repeat(1000)}b`)).toBe('<secret:s0>b');
  });

  test('the longer of two that begin alike is taken whole', () => {
    expect(redactorOf('password', 'password-of-the-other').text('it is password-of-the-other.')).toBe(
      'it is <secret:s0>.',
    );
  });

  test('a value of 64 KiB is found over many chunks, and what is held stays bounded', () => {
    const secret = Array.from({ length: 64 * 1024 }, (_, at) => String.fromCharCode(97 + ((at * at) % 26))).join('');
    const redactor = redactorOf(secret);
    const bytes = Buffer.from(`before ${secret} after ${secret.slice(0, -1)}`);
    expect(feed(redactor, bytes, [4096, 1, 777]).toString()).toBe(`before <secret:s0> after ${secret.slice(0, -1)}`);
    const stream = redactor.stream();
    let given = 0;
    const chunk = Buffer.from(secret.slice(0, 8192));
    for (let turn = 0; turn < 100; turn++) given += stream.write(chunk).length;
    expect(100 * chunk.length - given).toBeLessThanOrEqual(4 * secret.length);
  });

  test('a repeated value of any length is dropped while it comes, not kept', () => {
    const stream = redactorOf('abababab').stream();
    let given = '';
    for (let turn = 0; turn < 1000; turn++) given += stream.write(Buffer.from('abab'.repeat(100))).toString();
    expect(given + stream.flush().toString()).toBe('<secret:s0>');
  });

  test('in JSON: strings, keys, numbers, deep; other values are the same', () => {
    const redactor = redactorOf('s3cr3t-value', '1234567890');
    const before: JsonValue = {
      a: ['x s3cr3t-value y', 1234567890, 12, true, null],
      's3cr3t-value': { 's3cr3t-value': 1.5 },
    };
    expect(JSON.stringify(redactor.json(before))).toBe(
      '{"a":["x <secret:s0> y","<secret:s1>",12,true,null],"<secret:s0>":{"<secret:s0>":1.5}}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), innocent => {
        expect(JSON.stringify(redactor.json(innocent as JsonValue))).toBe(JSON.stringify(innocent));
      }),
    );
  });

  test('two keys that differ only in the secret stay two', () => {
    const clean = redactorOf('s3cr3t-value', 's3cr3t-other').json({ 's3cr3t-value': 1, '<secret:s0>': 2 });
    expect(Object.values(clean as object)).toEqual([1, 2]);
  });

  test('the name of a file stays one', () => {
    const redactor = createRedactor([{ name: 'custom/deploy-token', value: 's3cr3t-value' }]);
    expect(redactor?.name('out/s3cr3t-value.txt')).toBe('out/secret-custom-deploy-token.txt');
  });

  test('nothing to look for is no work, and a value too short is a fault', () => {
    expect(createRedactor([])).toBeNull();
    expect(() => createRedactor([{ name: 'x', value: '1234567' }])).toThrow('too short');
  });
});
