import { TextDecoder } from 'node:util';
import type { Entry } from 'yauzl';
import { SkillboxError, visibleLine } from '../base/index.ts';
import type { PackedFile } from './archive-content.ts';
import type { ArchiveFile } from './archive-file.ts';
import { refuse } from './archive-refusal.ts';
import { MAX_RATIO, RATIO_FREE_BYTES } from './limits.ts';
import { checkPath, MAX_DEPTH, NameIndex } from './names.ts';
import { type CentralDirectory, findExtras, isDescriptor, type LocalHeader, readLocalHeader } from './zip-records.ts';

/** One entry whose every statement about itself has been checked; its content has not. */
export type ArchiveEntry = PackedFile & { directory: boolean; executable: boolean };

type Placed = { entry: ArchiveEntry; start: number; hasDescriptor: boolean };

// Both headers must say the same of: encryption (0, 6, 13), data descriptor (3), patch (5), UTF-8 name (11).
const FLAGS = { compared: 0b0010_1000_0110_1001, unreadable: 0b0010_0000_0110_0001, descriptor: 0b1000 };
const TYPE_MASK = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
const LINK = 0o120000;
const DOS_DIRECTORY = 0x10;
const DEFLATED = 8;
const UNICODE_PATH = 0x7075;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Every entry of the archive, or a refusal of the whole: there is no safe half of a hostile archive. */
export async function readEntries(file: ArchiveFile, directory: CentralDirectory): Promise<ArchiveEntry[]> {
  const names = new NameIndex();
  const placed: Placed[] = [];
  let bytes = 0;
  for await (const record of readRecords(file)) {
    bytes += 46 + record.fileNameLength + record.extraFieldLength + record.fileCommentLength;
    const one = checkRecord(file, record, directory.start);
    const met = names.add(one.entry.name, one.entry.directory ? 'directory' : 'file');
    // On a folding file system the second would overwrite the first after the first was checked.
    if (met !== null) {
      throw refuse('collision', one.entry.name, 'has the same name as another, at least on some systems');
    }
    placed.push(one);
  }
  if (placed.length !== directory.entries || bytes !== directory.bytes) {
    throw refuse('central-directory', null, 'has data behind the last record of its central directory');
  }
  checkPlaces(file, placed, directory.start);
  return placed.map(({ entry }) => entry);
}

/** yauzl parses the central directory; the judgement is ours, so that names stay raw and a refusal names its entry. */
async function* readRecords(file: ArchiveFile): AsyncGenerator<Entry> {
  try {
    // Loaded here: most starts of the program never see an archive.
    const { fromFdPromise } = await import('yauzl');
    const zip = await fromFdPromise(file.fd, { autoClose: false, decodeStrings: false, validateEntrySizes: false });
    yield* zip.eachEntry();
  } catch (error) {
    if (error instanceof SkillboxError || !(error instanceof Error)) throw error;
    throw refuse('central-directory', null, `cannot be read: ${visibleLine(error.message)}`, error);
  }
}

function checkRecord(file: ArchiveFile, record: Entry, end: number): Placed {
  const raw = decodeName(record.fileNameRaw);
  const directory = raw.endsWith('/');
  const name = directory ? raw.slice(0, -1) : raw;
  // One level more than in a folder: the single top folder is not part of the skill's paths.
  const unsafe = checkPath(name, MAX_DEPTH + 1);
  if (unsafe !== null) throw refuse('name', raw, unsafe);
  checkType(record, raw, directory);
  if ((record.generalPurposeBitFlag & FLAGS.unreadable) !== 0) throw refuse('encrypted', name, 'is encrypted');
  if (record.compressionMethod !== 0 && record.compressionMethod !== DEFLATED) {
    throw refuse('method', name, `is compressed by method ${record.compressionMethod}; only deflate is read`);
  }
  checkSizes(record, name);
  const local = readLocalHeader(file, record.relativeOffsetOfLocalHeader, end);
  if (local === null) throw refuse('local-header', name, 'has no local header where it should be');
  checkLocal(record, local, name);
  return {
    start: record.relativeOffsetOfLocalHeader,
    hasDescriptor: (record.generalPurposeBitFlag & FLAGS.descriptor) !== 0,
    entry: {
      name,
      directory,
      executable: !directory && isUnix(record) && (modeOf(record) & 0o111) !== 0,
      stored: record.compressionMethod === 0,
      dataStart: local.dataStart,
      compressedSize: record.compressedSize,
      size: record.uncompressedSize,
      crc32: record.crc32,
    },
  };
}

/** As UTF-8 whether flagged so or not, as `zip -r` and macOS write it; other encodings have no one meaning. */
function decodeName(raw: Buffer): string {
  try {
    return UTF8.decode(raw);
  } catch (error) {
    throw refuse('name', raw.toString('latin1'), 'is not valid UTF-8', error);
  }
}

/** Type bits count whatever system wrote them: some unpackers look at them and not at the system. */
function checkType(record: Entry, raw: string, directory: boolean): void {
  const type = modeOf(record) & TYPE_MASK;
  // A link written first and written through next is the oldest way out of an archive.
  if (type === LINK) throw refuse('link', raw, 'is a symbolic link');
  if (type !== 0 && type !== REGULAR && type !== DIRECTORY) {
    throw refuse('special-file', raw, 'is a device, socket or FIFO');
  }
  const marked = type === DIRECTORY || (record.externalFileAttributes & DOS_DIRECTORY) !== 0;
  if (marked && !directory) throw refuse('special-file', raw, 'is a directory by its type and a file by its name');
  // Some writers deflate nothing, into two bytes.
  const filled = record.uncompressedSize !== 0 || record.compressedSize > 2;
  if (directory && filled) throw refuse('special-file', raw, 'is a directory with content');
}

/** Both ways: little that becomes much fills the disk, much that becomes little is a place to hide things. */
function checkSizes(record: Entry, name: string): void {
  const { uncompressedSize: size, compressedSize } = record;
  if (size > RATIO_FREE_BYTES && size > compressedSize * MAX_RATIO) {
    throw refuse('ratio', name, `grows to more than ${MAX_RATIO} times its size`);
  }
  // Deflate adds a few bytes per 16 KiB at worst, however it is flushed.
  if (compressedSize > size * 1.125 + 1024) throw refuse('size', name, 'is far larger packed than unpacked');
}

/** The upper half of the external attributes. Setuid, setgid and sticky bits are simply not carried over. */
function modeOf(record: Entry): number {
  return record.externalFileAttributes >>> 16;
}

function isUnix(record: Entry): boolean {
  const system = record.versionMadeBy >>> 8;
  return system === 3 || system === 19;
}

/** A streaming unpacker believes the local header, the others the central one: both must be told the same. */
function checkLocal(record: Entry, local: LocalHeader, name: string): void {
  if (!local.name.equals(record.fileNameRaw)) {
    throw refuse('local-header', name, 'has another name in its local header');
  }
  for (const extra of [record.extraFieldRaw, local.extra]) {
    const others = findExtras(extra, UNICODE_PATH);
    // Five bytes of version and checksum, then the name that some unpackers prefer.
    if (others === null || others.some(other => !other.subarray(5).equals(record.fileNameRaw))) {
      throw refuse('local-header', name, 'has another name in its extra fields');
    }
  }
  // With a descriptor the sizes may be unknown (0) when the header is written.
  const streamed = (record.generalPurposeBitFlag & FLAGS.descriptor) !== 0;
  const same = (a: number, b: number) => a === b || (streamed && a === 0);
  const agree =
    local.method === record.compressionMethod &&
    ((local.flags ^ record.generalPurposeBitFlag) & FLAGS.compared) === 0 &&
    same(local.crc32, record.crc32) &&
    same(local.compressedSize, record.compressedSize) &&
    same(local.size, record.uncompressedSize);
  if (!agree) throw refuse('local-header', name, 'contradicts its local header');
}

/** From the first byte to the central directory, entry follows entry: nothing before, between, behind or over another. */
function checkPlaces(file: ArchiveFile, placed: Placed[], end: number): void {
  placed.sort((a, b) => a.start - b.start);
  if ((placed[0]?.start ?? end) !== 0) throw refuse('prepended-data', null, 'has data before its first entry');
  for (const [at, { entry, hasDescriptor }] of placed.entries()) {
    const dataEnd = entry.dataStart + entry.compressedSize;
    const next = placed[at + 1]?.start ?? end;
    if (dataEnd > next) throw refuse('overlap', entry.name, 'overlaps another');
    if (!hasDescriptor && dataEnd !== next) throw refuse('hidden-data', entry.name, 'is followed by data of no entry');
    if (!hasDescriptor) continue;
    // 24 bytes is the longest descriptor; more is not read, so that a gap of gigabytes costs nothing.
    const descriptor = file.read(dataEnd, Math.min(next, dataEnd + 25));
    if (!isDescriptor(descriptor, entry.crc32, entry.compressedSize, entry.size)) {
      throw refuse('data-descriptor', entry.name, 'contradicts its data descriptor');
    }
  }
}
