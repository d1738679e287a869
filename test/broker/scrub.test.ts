import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodingsOf } from '../../src/base/index.ts';
import { Placeholders } from '../../src/broker/placeholder.ts';
import { Scrubber } from '../../src/broker/scrub.ts';
import { Search } from '../../src/broker/search.ts';
import { UsageMeter } from '../../src/broker/usage.ts';
import { customOf } from '../support/broker.ts';

/** The bytes in pieces of any size. */
const pieces = (bytes: Buffer, cuts: number[]) => {
  const at = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
};
const cleaned = (bytes: Buffer, at: number[]) => {
  const cleaner = new Scrubber([VALUE]).cleaner();
  return Buffer.concat([...pieces(bytes, at).map(piece => cleaner.push(Buffer.from(piece))), cleaner.flush()]);
};
const VALUE = 'sk-a/b+c=0123456789';
const cuts = fc.array(fc.nat(500), { maxLength: 12 });
const noise = fc.string({
  unit: fc.constantFrom('s', 'k', '-', 'a', '/', 'b', '+', 'c', '=', '0', '\n', '*'),
  maxLength: 20,
});

describe('what a host answers', () => {
  test('holds no value in any spelling, keeps its length, however it is cut', () => {
    const form = fc.constantFrom(...encodingsOf(VALUE).map(bytes => bytes.toString()));
    fc.assert(
      fc.property(fc.array(fc.tuple(noise, form), { maxLength: 4 }), noise, cuts, (parts, rest, at) => {
        const bytes = Buffer.from(parts.flat().join('') + rest);
        const clean = cleaned(bytes, at);
        expect(clean.length).toBe(bytes.length);
        for (const each of encodingsOf(VALUE)) expect(clean.includes(each)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('passes as it is where nothing is to be hidden, and at once', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, at) => {
        expect(cleaned(Buffer.from(bytes), at)).toEqual(Buffer.from(bytes));
      }),
    );
    const cleaner = new Scrubber([VALUE]).cleaner();
    expect(String(cleaner.push(Buffer.from('data: {"x":1}\n\n')))).toBe('data: {"x":1}\n\n');
    // Only a possible beginning waits.
    expect(String(cleaner.push(Buffer.from('abc sk-a/')))).toBe('abc ');
    expect(String(cleaner.flush())).toBe('sk-a/');
  });
});

test('a value that is the beginning of another, or runs into one, does not hide it: every cut gives what no cut gives', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 9 });
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 3 }), texts, cuts, (values, text, at) => {
      const scrubber = new Scrubber(values);
      const whole = Buffer.from(text);
      scrubber.blank(whole);
      const cleaner = scrubber.cleaner();
      const clean = pieces(Buffer.from(text), at).map(piece => String(cleaner.push(Buffer.from(piece))));
      expect(clean.join('') + String(cleaner.flush())).toBe(String(whole));
    }),
    { numRuns: 2000 },
  );
  const cleaner = new Scrubber(['deployer', 'deployer:s3cret-pass']).cleaner();
  const clean = ['x deployer', ':s3cret-pass y'].map(piece => String(cleaner.push(Buffer.from(piece))));
  expect(clean).toEqual(['x ', `${'*'.repeat(20)} y`]);
});

describe('a search for many words', () => {
  // Few letters: words begin, overlap and contain each other all the time.
  const letters = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength, maxLength }).map(text => Buffer.from(text));
  const words = fc.array(letters(1, 12), { maxLength: 5 });

  test('finds what looking everywhere finds', () => {
    fc.assert(
      fc.property(words, letters(0, 80), (sought, bytes) => {
        const places = new Set<string>();
        for (const word of sought)
          for (let at = bytes.indexOf(word); at !== -1; at = bytes.indexOf(word, at + 1))
            places.add(`${at} ${at + word.length}`);
        const found = new Search(sought).places(bytes);
        const pairs = found.flatMap((start, index) => (index % 2 === 0 ? [`${start} ${found[index + 1]}`] : []));
        expect(new Set(pairs)).toEqual(places);
      }),
      { numRuns: 2000 },
    );
  });

  test('holds back the longest end that is the beginning of a word, and no more', () => {
    fc.assert(
      fc.property(words, letters(0, 40), (sought, bytes) => {
        let longest = 0;
        for (const word of sought)
          for (let length = 1; length < word.length && length <= bytes.length; length++)
            if (bytes.subarray(bytes.length - length).equals(word.subarray(0, length)))
              longest = Math.max(longest, length);
        expect(new Search(sought).pending(bytes)).toBe(longest);
      }),
      { numRuns: 2000 },
    );
  });

  test('nothing is the beginning of nothing', () => {
    expect(new Search([Buffer.from([0, 1])]).pending(Buffer.alloc(0))).toBe(0);
  });

  test('words of every length and byte, in bytes of every length', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 600 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(3)), { maxLength: 4 }),
        (bytes, parts) => {
          const sought = bytes.map(each => Buffer.from(each));
          const text = Buffer.concat(parts.flatMap(([before, which]) => [before, sought[which] ?? Buffer.alloc(0)]));
          const found = new Search(sought).places(text);
          for (const word of sought) {
            const at = text.indexOf(word);
            if (at !== -1) expect(found.some((start, index) => index % 2 === 0 && start === at)).toBe(true);
          }
          for (let index = 0; index < found.length; index += 2)
            expect(sought.some(word => word.equals(text.subarray(found[index], found[index + 1])))).toBe(true);
        },
      ),
    );
  });
});

test('a value of one or two bytes has spellings of none: those are not looked for', () => {
  const scrubber = new Scrubber(['a', 'bc']);
  const bytes = Buffer.from('xaxbcx');
  scrubber.blank(bytes);
  expect(String(bytes)).toBe('x*x**x');
});

describe('SK-10 placeholders', () => {
  test('are replaced in bodies, however they are cut', async () => {
    const custom = customOf({ value: 'the "value"', placeholder: 'skp_skp_1' });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('skp_skp_1', 'skp_', 'x', 'skp_skp_', '1'), { maxLength: 12 }),
        cuts,
        async (words, at) => {
          const text = words.join('');
          const stream = new Placeholders([custom]).stream('plain');
          for (const piece of pieces(Buffer.from(text), at)) stream.write(Buffer.from(piece));
          stream.end();
          expect(String(await buffer(stream))).toBe(text.replaceAll('skp_skp_1', 'the "value"'));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('are written as their place demands', () => {
    const one = new Placeholders([customOf({ value: 'a "b"&c', placeholder: 'PH' })]);
    expect(one.inUrl('/x?k=PH')).toBe('/x?k=a%20%22b%22%26c');
    expect(String(one.inBody(Buffer.from('{"k":"PH"}'), 'json'))).toBe('{"k":"a \\"b\\"&c"}');
    expect(String(one.inBody(Buffer.from('k=PH'), 'form'))).toBe('k=a+%22b%22%26c');
    expect(one.inHeader('Bearer PH')).toBe('Bearer a "b"&c');
    expect(one.inHeader(`Basic ${Buffer.from('u:PH').toString('base64')}`)).toBe(
      `Basic ${Buffer.from('u:a "b"&c').toString('base64')}`,
    );
    expect(new Placeholders([customOf({ value: 'a\nb', placeholder: 'PH' })]).inHeader('PH')).toBeNull();
  });
});

test('tokens are counted as the answer says, also across chunks, and not from what a model wrote', () => {
  const count = (...chunks: string[]) => {
    const meter = new UsageMeter();
    for (const chunk of chunks) meter.add(Buffer.from(chunk));
    return meter.tokens;
  };
  expect(count('{"usage":{"input_tokens":5,"output_tokens":7}}')).toBe(12);
  expect(count('{"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":20}}')).toBe(20);
  expect(
    count(
      'data: {"usage":{"input_tokens":5,"output_tok',
      'ens":1',
      '}}\n\ndata: {"usage":{"output_tokens": 1',
      '2}}\n\n',
    ),
  ).toBe(17);
  expect(count('{"text":"\\"input_tokens\\": 999, "}')).toBeNull();
  expect(count('nothing', ' here')).toBeNull();
});
