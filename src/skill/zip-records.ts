import type { ArchiveFile } from './archive-file.ts';
import { refuse } from './archive-refusal.ts';

/** The parts of a zip that yauzl does not compare with each other: the end records, local headers and descriptors. */

const END = { signature: 0x06054b50, bytes: 22 };
const LOCATOR = { signature: 0x07064b50, bytes: 20 };
const END64 = { signature: 0x06064b50, bytes: 56 };
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const MAX_COMMENT_BYTES = 0xffff;
const UNSET16 = 0xffff;
const UNSET32 = 0xffffffff;

export type CentralDirectory = { entries: number; start: number; bytes: number };

/** Where the central directory is. It must fill the space up to the end records, and they the rest of the file. */
export function readEnd(file: ArchiveFile): CentralDirectory {
  if (file.bytes < END.bytes) throw refuse('not-a-zip', null, 'is no zip file');
  const tail = file.read(Math.max(0, file.bytes - END.bytes - MAX_COMMENT_BYTES), file.bytes);
  let at = tail.length - END.bytes;
  while (at >= 0 && tail.readUInt32LE(at) !== END.signature) at--;
  if (at < 0) throw refuse('not-a-zip', null, 'has no end record: it is cut off, or no zip file');
  // Also when the comment holds a second end record: other readers might follow that one to other files.
  if (at + END.bytes + tail.readUInt16LE(at + 20) !== tail.length) {
    throw refuse('trailing-data', null, 'has data behind its end record');
  }
  const endStart = file.bytes - tail.length + at;
  const end = tail.subarray(at, at + END.bytes);
  const found = readEnd64(file, endStart, end) ?? readPlainEnd(end, endStart);
  if (found.start + found.bytes !== found.end) {
    throw refuse('end-record', null, 'has a central directory elsewhere than it says');
  }
  // A forged count would make a reader wait for, or allocate, entries that cannot be there.
  if (found.entries * 46 > found.bytes) throw refuse('end-record', null, `has no room for ${found.entries} entries`);
  return found;
}

type End = CentralDirectory & { end: number };

function readPlainEnd(end: Buffer, endStart: number): End {
  const disks = [end.readUInt16LE(4), end.readUInt16LE(6)];
  const entries = end.readUInt16LE(10);
  const bytes = end.readUInt32LE(12);
  const start = end.readUInt32LE(16);
  if (disks.some(disk => disk !== 0) || end.readUInt16LE(8) !== entries) {
    throw refuse('end-record', null, 'is one of several disks');
  }
  if (entries === UNSET16 || bytes === UNSET32 || start === UNSET32) {
    throw refuse('zip64', null, 'refers to a ZIP64 record that is not there');
  }
  return { entries, start, bytes, end: endStart };
}

/** ZIP64: both end records must agree, or two readers see two archives. Null when there is no locator. */
function readEnd64(file: ArchiveFile, endStart: number, end: Buffer): End | null {
  if (endStart < LOCATOR.bytes) return null;
  const locator = file.read(endStart - LOCATOR.bytes, endStart);
  if (locator.readUInt32LE(0) !== LOCATOR.signature) return null;
  const start64 = readUInt64(locator, 8);
  // Exactly before its locator and without an extensible sector: there is no place for anything else.
  if (start64 + END64.bytes !== endStart - LOCATOR.bytes) throw refuse('zip64', null, 'has a misplaced ZIP64 record');
  const record = file.read(start64, start64 + END64.bytes);
  if (record.readUInt32LE(0) !== END64.signature || readUInt64(record, 4) !== END64.bytes - 12) {
    throw refuse('zip64', null, 'has a broken ZIP64 record');
  }
  const entries = readUInt64(record, 32);
  const bytes = readUInt64(record, 40);
  const start = readUInt64(record, 48);
  const agree =
    [entries, UNSET16].includes(end.readUInt16LE(10)) &&
    [entries, UNSET16].includes(end.readUInt16LE(8)) &&
    readUInt64(record, 24) === entries &&
    [bytes, UNSET32].includes(end.readUInt32LE(12)) &&
    [start, UNSET32].includes(end.readUInt32LE(16));
  if (!agree) throw refuse('zip64', null, 'has a ZIP64 record that contradicts its end record');
  const disks = [locator.readUInt32LE(4), record.readUInt32LE(16), record.readUInt32LE(20)];
  if (disks.some(disk => disk !== 0)) throw refuse('end-record', null, 'is one of several disks');
  return { entries, start, bytes, end: start64 };
}

export type LocalHeader = {
  flags: number;
  method: number;
  crc32: number;
  compressedSize: number;
  size: number;
  name: Buffer;
  extra: Buffer;
  dataStart: number;
};

/** Null when there is none at this place. `end` is where the central directory starts. */
export function readLocalHeader(file: ArchiveFile, start: number, end: number): LocalHeader | null {
  if (start + LOCAL.bytes > end) return null;
  const fixed = file.read(start, start + LOCAL.bytes);
  if (fixed.readUInt32LE(0) !== LOCAL.signature) return null;
  const nameEnd = start + LOCAL.bytes + fixed.readUInt16LE(26);
  const dataStart = nameEnd + fixed.readUInt16LE(28);
  if (dataStart > end) return null;
  const rest = file.read(start + LOCAL.bytes, dataStart);
  const extra = rest.subarray(nameEnd - start - LOCAL.bytes);
  const [size, compressedSize] = readSizes(fixed.readUInt32LE(22), fixed.readUInt32LE(18), extra);
  return {
    flags: fixed.readUInt16LE(6),
    method: fixed.readUInt16LE(8),
    crc32: fixed.readUInt32LE(14),
    compressedSize,
    size,
    name: rest.subarray(0, nameEnd - start - LOCAL.bytes),
    extra,
    dataStart,
  };
}

/** ZIP64 in a local header: the extra field holds, in this order, the sizes that do not fit. */
function readSizes(size: number, compressedSize: number, extra: Buffer): [number, number] {
  const zip64 = findExtras(extra, 0x0001)?.[0];
  let at = 0;
  const take = (value: number): number => {
    if (value !== UNSET32 || zip64 === undefined || at + 8 > zip64.length) return value;
    at += 8;
    return readUInt64(zip64, at - 8);
  };
  const first = take(size);
  return [first, take(compressedSize)];
}

/** The extra fields with this id, of which some readers take the first and some the last; null when they are broken. */
export function findExtras(extra: Buffer, id: number): Buffer[] | null {
  const found: Buffer[] = [];
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (end > extra.length) return null;
    if (extra.readUInt16LE(at) === id) found.push(extra.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** A descriptor repeats CRC and sizes behind the data: with or without a signature, in 32 or 64 bits. */
export function isDescriptor(bytes: Buffer, crc32: number, compressedSize: number, size: number): boolean {
  const wide = bytes.length === 20 || bytes.length === 24;
  const signed = bytes.length === 16 || bytes.length === 24;
  if (!wide && !signed && bytes.length !== 12) return false;
  const at = signed ? 4 : 0;
  if (signed && bytes.readUInt32LE(0) !== 0x08074b50) return false;
  const sizes = wide
    ? [readUInt64(bytes, at + 4), readUInt64(bytes, at + 12)]
    : [bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8)];
  return bytes.readUInt32LE(at) === crc32 && sizes[0] === compressedSize && sizes[1] === size;
}

/** Beyond 2^53 the value is not exact, but then it is beyond every file as well and fails each comparison. */
function readUInt64(buffer: Buffer, at: number): number {
  return Number(buffer.readBigUInt64LE(at));
}
