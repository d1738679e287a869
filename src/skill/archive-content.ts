import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import type { ArchiveFile } from './archive-file.ts';
import { refuse } from './archive-refusal.ts';

/** Where an entry's bytes are, and what they must turn out to be. */
export type PackedFile = {
  name: string;
  stored: boolean;
  dataStart: number;
  compressedSize: number;
  size: number;
  crc32: number;
};

const CHUNK_BYTES = 64 * 1024;

/** The whole content, checked: exactly the promised size and CRC, from exactly the promised bytes. */
export function readContent(file: ArchiveFile, packed: PackedFile): Buffer {
  const bytes = file.read(packed.dataStart, packed.dataStart + packed.compressedSize);
  const content = packed.stored ? bytes : inflateAll(bytes, packed);
  if (content.length !== packed.size) throw wrongSize(packed);
  if (crc32(content) !== packed.crc32) throw wrongCrc(packed);
  return content;
}

function inflateAll(bytes: Buffer, packed: PackedFile): Buffer {
  let inflated: { buffer: Buffer; engine: { bytesWritten: number } };
  try {
    // Never more than was promised: a size that lies must not decide how much memory is taken.
    const result: unknown = inflateRawSync(bytes, { maxOutputLength: Math.max(1, packed.size), info: true });
    if (!isInflated(result)) throw refuse('content', packed.name, 'cannot be unpacked');
    inflated = result;
  } catch (error) {
    throw inflateError(error, packed);
  }
  // Bytes behind the compressed stream are seen by nobody who unpacks: a place to hide things.
  if (inflated.engine.bytesWritten !== bytes.length) throw hiddenBytes(packed);
  return inflated.buffer;
}

function isInflated(result: unknown): result is { buffer: Buffer; engine: { bytesWritten: number } } {
  return typeof result === 'object' && result !== null && 'buffer' in result && 'engine' in result;
}

/** The same in pieces, with flat memory. The last piece is given away only when everything has been found right. */
export async function* streamContent(file: ArchiveFile, packed: PackedFile): AsyncGenerator<Buffer> {
  if (packed.size <= CHUNK_BYTES && packed.compressedSize <= CHUNK_BYTES) {
    const content = readContent(file, packed);
    if (content.length > 0) yield content;
    return;
  }
  let left = packed.size;
  let crc = 0;
  let held: Buffer | null = null;
  for await (const chunk of packed.stored ? readChunks(file, packed) : inflateChunks(file, packed)) {
    left -= chunk.length;
    // At once, not at the end: this is what stops a bomb.
    if (left < 0) throw wrongSize(packed);
    crc = crc32(chunk, crc);
    if (held !== null) yield held;
    held = chunk;
  }
  if (left !== 0) throw wrongSize(packed);
  if (crc !== packed.crc32) throw wrongCrc(packed);
  if (held !== null) yield held;
}

function* readChunks(file: ArchiveFile, packed: PackedFile): Generator<Buffer> {
  const end = packed.dataStart + packed.compressedSize;
  for (let at = packed.dataStart; at < end; at += CHUNK_BYTES) yield file.read(at, Math.min(end, at + CHUNK_BYTES));
}

async function* inflateChunks(file: ArchiveFile, packed: PackedFile): AsyncGenerator<Buffer> {
  const inflater = createInflateRaw({ chunkSize: CHUNK_BYTES });
  // Its failure reaches us through the inflater, which it destroys with the same error.
  const fed = pipeline(Readable.from(readChunks(file, packed)), inflater).catch(() => undefined);
  try {
    for await (const chunk of inflater) yield chunk as Buffer;
    if (inflater.bytesWritten !== packed.compressedSize) throw hiddenBytes(packed);
  } catch (error) {
    throw inflateError(error, packed);
  } finally {
    // Leaving the loop destroyed the inflater, which lets the feeder go even when data follows the stream's end.
    await fed;
  }
}

function inflateError(error: unknown, packed: PackedFile): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'ERR_BUFFER_TOO_LARGE') return wrongSize(packed);
  if (typeof code === 'string' && code.startsWith('Z_')) {
    return refuse('content', packed.name, 'cannot be unpacked: its compressed data is broken', error);
  }
  return error;
}

function wrongSize(packed: PackedFile): Error {
  return refuse('size', packed.name, `does not have the ${packed.size} bytes that it declares`);
}

function wrongCrc(packed: PackedFile): Error {
  return refuse('crc', packed.name, 'does not match its CRC-32');
}

function hiddenBytes(packed: PackedFile): Error {
  return refuse('hidden-data', packed.name, 'has bytes behind its compressed data');
}
