import { constants, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_IMAGE_LIMITS } from '../../src/images/limits.ts';
import { unpack } from '../../src/images/unpack.ts';
import { splitFrames } from '../../src/images/zstd-frames.ts';

/** A frame that readers pass over. */
function skipped(kind: number, bytes: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a50 + kind, 0);
  head.writeUInt32LE(bytes, 4);
  return Buffer.concat([head, Buffer.alloc(bytes, 0x28)]);
}

const { ZSTD_c_checksumFlag, ZSTD_c_contentSizeFlag, ZSTD_c_compressionLevel } = constants;

const frame = fc
  .record({
    // Of much that is alike there are blocks of one byte, and of what is not, blocks as they stand.
    text: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 0, max: 400_000 }).map(bytes => Buffer.alloc(bytes, 'x')),
      fc.integer({ min: 0, max: 300_000 }).map(bytes => Buffer.from(Array.from({ length: bytes }, (_, n) => n * n))),
    ),
    checksum: fc.boolean(),
    size: fc.boolean(),
    level: fc.constantFrom(1, 3, 9),
  })
  .map(({ text, checksum, size, level }) => ({
    text: Buffer.from(text),
    packed: zstdCompressSync(text, {
      params: {
        [ZSTD_c_checksumFlag]: Number(checksum),
        [ZSTD_c_contentSizeFlag]: Number(size),
        [ZSTD_c_compressionLevel]: level,
      },
    }),
  }));
const nothing = fc
  .record({ kind: fc.nat(15), bytes: fc.nat(40) })
  .map(({ kind, bytes }) => ({ text: Buffer.alloc(0), packed: skipped(kind, bytes) }));

async function* inPieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function gather(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

const meter = () => ({ limits: DEFAULT_IMAGE_LIMITS, unpackedBytes: 0, signal: null, onBytes: () => undefined });

test('any frames one after another are all unpacked, wherever they are cut, and those to be passed over are', async () => {
  await fc.assert(
    fc.asyncProperty(
      // Of nothing but what is passed over zlib says that it was cut off.
      fc
        .array(fc.oneof(frame, nothing), { minLength: 1, maxLength: 5 })
        .filter(frames => frames.some(({ packed }) => packed[0] === 0x28)),
      fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 4 }),
      async (frames, sizes) => {
        const packed = Buffer.concat(frames.map(one => one.packed));
        const text = Buffer.concat(frames.map(one => one.text));
        expect((await gather(unpack('x', inPieces(packed, sizes), meter()))).equals(text)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test('what is cut off is refused in every place, and so is what stands behind a frame and is none', async () => {
  const packed = Buffer.concat([zstdCompressSync('one'), skipped(0, 3), zstdCompressSync('two')]);
  const first = zstdCompressSync('one').length;
  // Where a frame ends nothing says that another was to come: whoever packed it has a digest, or an end, of what is inside.
  const ends = [first, first + 11];
  const refused = async (bytes: Buffer) =>
    gather(unpack('x', inPieces(bytes, [7]), meter())).then(
      () => null,
      (error: unknown) => (error as { code?: string }).code,
    );
  for (let at = 4; at < packed.length; at++) {
    const isFrame = at < first || at > first + 11 + 3;
    if (!ends.includes(at) && isFrame)
      expect([at, await refused(packed.subarray(0, at))]).toEqual([at, 'IMAGE_UNSAFE']);
  }
  for (const behind of ['x', 'more', 'much more']) expect(await refused(Buffer.from(behind, 'latin1'))).toBeNull(); // not packed at all
  expect(await refused(Buffer.concat([packed, Buffer.from('much more')]))).toBe('IMAGE_UNSAFE');
});

test('there are no more frames than an image has entries', async () => {
  const packed = Buffer.concat(Array.from({ length: 20 }, () => skipped(1, 0)));
  expect(await gather(splitFrames('x', inPieces(packed, [9]), 20))).toHaveLength(0);
  await expect(gather(splitFrames('x', inPieces(packed, [9]), 19))).rejects.toMatchObject({ code: 'IMAGE_UNSAFE' });
});
