/** The records and the packed data of a zip as we write it; zip-records.ts is the counterpart that reads them. */

export type ZipEntry = {
  name: Buffer;
  executable: boolean;
  deflated: boolean;
  crc32: number;
  packedSize: number;
  size: number;
  /** Where its local header is. */
  start: number;
};

/** From these values on a number goes into a ZIP64 field: the largest of 32 and 16 bits say that it is there. */
export type ZipBounds = { size: number; count: number };

export const ZIP_BOUNDS: ZipBounds = { size: 0xffffffff, count: 0xffff };

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const UNSET16 = 0xffff;
const UNSET32 = 0xffffffff;
// By a unix, so that the mode counts; 6.3 of the specification, which knows UTF-8 names.
const MADE_BY = (3 << 8) | 63;
const NEEDS = { plain: 20, zip64: 45 };
const UTF8_NAME = 1 << 11;
const DEFLATE = 8;
// 1980-01-01 00:00, the first moment that a zip can tell: nothing of the clock or the time zone.
const DOS_TIME = 0;
const DOS_DATE = (1 << 5) | 1;

/** With its final CRC and sizes: a descriptor behind the data would leave them open to those who read on the way. */
export function localHeader(entry: ZipEntry, bounds: ZipBounds): Buffer {
  const wide = hasWideSizes(entry, bounds);
  // Here both sizes must be in the field, even when only one does not fit.
  const extra = wide ? zip64Extra([entry.size, entry.packedSize]) : Buffer.alloc(0);
  const fixed = Buffer.alloc(30);
  fixed.writeUInt32LE(LOCAL, 0);
  writeCommon(fixed, 4, entry, wide, isWide(entry, bounds));
  fixed.writeUInt16LE(extra.length, 28);
  return Buffer.concat([fixed, entry.name, extra]);
}

export function centralRecord(entry: ZipEntry, bounds: ZipBounds): Buffer {
  const wide = isWide(entry, bounds);
  const extra = wide ? zip64Extra([entry.size, entry.packedSize, entry.start]) : Buffer.alloc(0);
  const fixed = Buffer.alloc(46);
  fixed.writeUInt32LE(CENTRAL, 0);
  fixed.writeUInt16LE(MADE_BY, 4);
  writeCommon(fixed, 6, entry, wide, wide);
  fixed.writeUInt16LE(extra.length, 30);
  // Nothing of the user: only whether the file is a program.
  fixed.writeUInt16LE(entry.executable ? 0o100755 : 0o100644, 40);
  fixed.writeUInt32LE(wide ? UNSET32 : entry.start, 42);
  return Buffer.concat([fixed, entry.name, extra]);
}

/** What ends the archive behind a central directory of `bytes` bytes that begins at `start`. */
export function endRecords(entries: number, start: number, bytes: number, bounds: ZipBounds): Buffer {
  const wide = entries >= bounds.count || start >= bounds.size || bytes >= bounds.size;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(wide ? UNSET16 : entries, 8);
  end.writeUInt16LE(wide ? UNSET16 : entries, 10);
  end.writeUInt32LE(wide ? UNSET32 : bytes, 12);
  end.writeUInt32LE(wide ? UNSET32 : start, 16);
  return wide ? Buffer.concat([endRecords64(entries, start, bytes), end]) : end;
}

function endRecords64(entries: number, start: number, bytes: number): Buffer {
  const records = Buffer.alloc(56 + 20);
  records.writeUInt32LE(END64, 0);
  // Of the record without these first twelve bytes.
  writeUInt64(records, 56 - 12, 4);
  records.writeUInt16LE(MADE_BY, 12);
  records.writeUInt16LE(NEEDS.zip64, 14);
  writeUInt64(records, entries, 24);
  writeUInt64(records, entries, 32);
  writeUInt64(records, bytes, 40);
  writeUInt64(records, start, 48);
  records.writeUInt32LE(LOCATOR64, 56);
  writeUInt64(records, start + bytes, 56 + 8);
  // The number of disks.
  records.writeUInt32LE(1, 56 + 16);
  return records;
}

/** The part that both headers share, from the needed version to the length of the name. */
function writeCommon(header: Buffer, at: number, entry: ZipEntry, wideSizes: boolean, zip64: boolean): void {
  header.writeUInt16LE(zip64 ? NEEDS.zip64 : NEEDS.plain, at);
  header.writeUInt16LE(UTF8_NAME, at + 2);
  header.writeUInt16LE(entry.deflated ? DEFLATE : 0, at + 4);
  header.writeUInt16LE(DOS_TIME, at + 6);
  header.writeUInt16LE(DOS_DATE, at + 8);
  header.writeUInt32LE(entry.crc32, at + 10);
  header.writeUInt32LE(wideSizes ? UNSET32 : entry.packedSize, at + 14);
  header.writeUInt32LE(wideSizes ? UNSET32 : entry.size, at + 18);
  header.writeUInt16LE(entry.name.length, at + 22);
}

function hasWideSizes(entry: ZipEntry, bounds: ZipBounds): boolean {
  return entry.size >= bounds.size || entry.packedSize >= bounds.size;
}

function isWide(entry: ZipEntry, bounds: ZipBounds): boolean {
  return hasWideSizes(entry, bounds) || entry.start >= bounds.size;
}

function zip64Extra(values: number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(0x0001, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  for (const [at, value] of values.entries()) writeUInt64(extra, value, 4 + 8 * at);
  return extra;
}

function writeUInt64(buffer: Buffer, value: number, at: number): void {
  buffer.writeBigUInt64LE(BigInt(value), at);
}

export type Fflate = typeof import('fflate');

/**
 * Fixed, as is the version of fflate: equal content must give equal bytes (SB-12). Not node:zlib, which packs otherwise
 * from one build of Node to the next. Without `mem`, fflate would choose it by a logarithm.
 */
const DEFLATE_OPTIONS = { level: 6, mem: 3 } as const;
const WINDOW_BYTES = 32 * 1024;
/** fflate's stream shows in which pieces its input came, so all but the last have this size. */
const PIECE_BYTES = 64 * 1024;

export function deflateAll({ deflateSync }: Fflate, content: Buffer): Buffer {
  return asBuffer(deflateSync(content, DEFLATE_OPTIONS));
}

/**
 * fflate's stream begins with a window of zeros and refers to them as if they were there (its issue 260). So the first
 * window is stored, and given to it as its dictionary: then it knows nothing but content. `size` must be larger
 * than a window, or the stream never ends.
 */
export async function* deflate(
  { Deflate }: Fflate,
  content: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<Buffer> {
  const packed: Buffer[] = [];
  let deflater: InstanceType<Fflate['Deflate']> | null = null;
  let left = size;
  for await (const piece of cut(content)) {
    left -= piece.length;
    if (deflater === null) {
      yield storedBlock(piece);
      deflater = new Deflate({ ...DEFLATE_OPTIONS, dictionary: piece }, data => packed.push(asBuffer(data)));
    } else {
      deflater.push(piece, left === 0);
      yield* packed.splice(0);
    }
  }
}

/** One window, then pieces of one size. */
async function* cut(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let wanted = WINDOW_BYTES;
  for await (const chunk of chunks) {
    held = Buffer.concat([held, chunk]);
    while (held.length >= wanted) {
      yield held.subarray(0, wanted);
      held = held.subarray(wanted);
      wanted = PIECE_BYTES;
    }
  }
  if (held.length > 0) yield held;
}

/** Of deflate, and not the last one. */
function storedBlock(content: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt16LE(content.length, 1);
  header.writeUInt16LE(content.length ^ 0xffff, 3);
  return Buffer.concat([header, content]);
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
