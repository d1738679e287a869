import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { expectRefused, refuse, SKILL } from './attack.ts';
import { descriptor, makeZip, zip64Extra } from './make-zip.ts';

describe('X-08 content that is not what the headers say', () => {
  const noise = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * at * 7 + (at >> 4)) % 251));

  test.each([
    ['stored', 0, 'hello'],
    ['deflated', 8, 'hello'],
    ['stored, large', 0, noise],
    ['deflated, large', 8, noise],
  ] as const)('wrong CRC, %s', async (_title, method, content) => {
    await expectRefused('crc', [SKILL, { name: 'x', content, method, crc: 12345 }]);
  });

  test('broken and cut off deflate data, small and large', async () => {
    for (const content of [Buffer.from('hello hello hello hello'), noise]) {
      const packed = deflateRawSync(content);
      await expectRefused('content', [SKILL, { name: 'x', content, method: 8, packed: packed.subarray(0, -4) }]);
      const broken = Buffer.from(packed);
      broken[0] = 0xff;
      await expectRefused('content', [SKILL, { name: 'x', content, method: 8, packed: broken }]);
    }
  });

  test('bytes behind the compressed data, small and large', async () => {
    for (const [content, extra] of [
      ['hello', 10],
      [noise, 10],
      [noise, 20_000],
    ] as const) {
      const packed = Buffer.concat([deflateRawSync(content), Buffer.alloc(extra, 'h')]);
      await expectRefused('hidden-data', [SKILL, { name: 'x', content, method: 8, packed }]);
    }
  });

  test.each([
    ['name', { name: 'other.md' }],
    ['name of the same length', { name: 'SKILL.mf' }],
    ['method', { method: 8 }],
    ['CRC', { crc: 1 }],
    ['size', { size: 6 }],
    ['packed size', { packedSize: 6 }],
    ['encryption', { flags: 0x801 }],
    ['data descriptor', { flags: 0x808 }],
    ['UTF-8 flag', { flags: 0 }],
    ['name in its Unicode extra field', { extra: unicodePath('SKILL.md', '../evil') }],
    [
      'name in its second Unicode extra field',
      { extra: Buffer.concat([unicodePath('SKILL.md', 'SKILL.md'), unicodePath('SKILL.md', '../evil')]) },
    ],
    ['length of its extra field', { extra: Buffer.from([1, 2, 9, 0, 0]) }],
  ] as const)('another %s in the local header', async (_title, local) => {
    await expectRefused('local-header', [{ ...SKILL, local }]);
  });

  test('another name in the central Unicode extra field', async () => {
    await expectRefused('local-header', [{ ...SKILL, extra: unicodePath('SKILL.md', 'scripts/main.sh') }]);
  });

  test('another size in a local ZIP64 field', async () => {
    const local = { size: 0xffffffff, packedSize: 0xffffffff, extra: zip64Extra(6, 5) };
    await expectRefused('local-header', [{ ...SKILL, local }]);
  });

  test('no local header at that place, or none at all', async () => {
    const unsigned = makeZip([SKILL]);
    unsigned.write('QK', 0);
    expect((await refuse(unsigned)).details.reason).toBe('local-header');
    await expectRefused('local-header', [{ ...SKILL, offset: 1 }]);
    await expectRefused('local-header', [{ ...SKILL, offset: 0xfffffff0 }]);
  });

  test('a data descriptor that contradicts, is missing or is followed by something', async () => {
    const local = { crc: 0, packedSize: 0, size: 0 };
    const right = descriptor('hello', 'signed', 5);
    for (const after of [
      descriptor('hellO', 'signed', 5),
      descriptor('hello', 'bare', 6),
      descriptor('hello', 'wide', 6),
      Buffer.alloc(0),
      right.subarray(0, 15),
      Buffer.concat([right, Buffer.from('hid')]),
      Buffer.concat([right, Buffer.alloc(100)]),
      Buffer.from(right).fill(0, 0, 4),
    ]) {
      await expectRefused('data-descriptor', [{ ...SKILL, flags: 0x808, local, after }, { name: 'x' }]);
    }
  });
});

describe('X-08 data that belongs to no entry', () => {
  const hidden = Buffer.from('#!/bin/sh\n');
  const shifted = makeZip([SKILL]);

  test('before the first entry, with offsets that count it and with offsets that do not', async () => {
    await expectRefused('prepended-data', [SKILL], { before: hidden });
    expect((await refuse(Buffer.concat([hidden, shifted]))).details.reason).toBe('end-record');
  });

  test('behind the end, also disguised as a comment', async () => {
    await expectRefused('trailing-data', [SKILL], { after: hidden });
    expect((await refuse(Buffer.concat([shifted, shifted]))).details.reason).toBe('end-record');
    // A second end record in the comment: readers disagree on which one counts.
    await expectRefused('end-record', [SKILL], { comment: makeZip([]) });
    await expectRefused('trailing-data', [SKILL], { comment: Buffer.concat([makeZip([]), hidden]) });
  });

  test('between entries, before and in the central directory', async () => {
    await expectRefused('hidden-data', [{ ...SKILL, after: hidden }, { name: 'x' }]);
    await expectRefused('hidden-data', [SKILL], { between: hidden });
    await expectRefused('end-record', [SKILL], { centralTail: hidden });
    await expectRefused('central-directory', [SKILL], { centralTail: hidden, countCentralTail: true });
  });

  test('in front of an archive without entries', async () => {
    await expectRefused('prepended-data', [], { before: hidden });
  });
});

describe('X-08 end records that lie', () => {
  test('counts, sizes, offsets and disks', async () => {
    await expectRefused('central-directory', [SKILL, { name: 'x' }], { count: 1 });
    await expectRefused('end-record', [SKILL], { count: 3 });
    await expectRefused('central-directory', [SKILL, { name: 'long'.repeat(40) }], { count: 3 });
    await expectRefused('end-record', [SKILL], { centralStart: 1 });
    await expectRefused('end-record', [SKILL], { centralSize: 10 });
    await expectRefused('end-record', [SKILL], { disk: 1 });
  });

  test('forged ZIP64 records', async () => {
    await expectRefused('end-record', [SKILL], { zip64: { count: 2n ** 40n } });
    await expectRefused('end-record', [SKILL], { zip64: { count: 2n ** 64n - 1n } });
    await expectRefused('end-record', [SKILL], { zip64: { size: 2n ** 60n } });
    await expectRefused('end-record', [SKILL], { zip64: { start: 2n ** 60n } });
    await expectRefused('zip64', [SKILL], { zip64: { locate: 2n ** 63n } });
    await expectRefused('zip64', [SKILL], { zip64: { locate: 0n } });
    await expectRefused('zip64', [SKILL], { zip64: { record: false } });
    // The end record names one archive, the ZIP64 record another.
    await expectRefused('zip64', [SKILL, { name: 'x' }], { zip64: { count: 1n, end32: true } });
    await expectRefused('zip64', [SKILL], { zip64: { end32: true }, count: 0 });
  });

  test('a ZIP64 size that is not there, or absurd', async () => {
    await expectRefused('ratio', [{ ...SKILL, size: 0xffffffff }]);
    await expectRefused('ratio', [{ ...SKILL, method: 8, size: 0xffffffff, extra: zip64Extra(2 ** 52) }]);
  });

  test('nothing, something short, and no zip at all', async () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('PK'),
      Buffer.alloc(100_000, 'PK\x03\x04'),
      Buffer.from('no zip, but long enough to be one'),
    ]) {
      expect((await refuse(bytes)).details.reason).toBe('not-a-zip');
    }
    const whole = makeZip([SKILL, { name: 'x', content: 'y'.repeat(100), method: 8 }]);
    for (let length = 0; length < whole.length; length += 7) await refuse(whole.subarray(0, length));
  });
});

/** Info-ZIP's field that gives an entry a second name. */
function unicodePath(name: string, other: string): Buffer {
  const bytes = Buffer.from(other);
  const out = Buffer.alloc(9);
  out.writeUInt16LE(0x7075, 0);
  out.writeUInt16LE(5 + bytes.length, 2);
  out.writeUInt8(1, 4);
  out.writeUInt32LE(crc32(name), 5);
  return Buffer.concat([out, bytes]);
}
