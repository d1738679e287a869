import { SkillboxError, unfinishedBytes } from '../base/index.ts';
import type { LogEntry, LogSlice, PlacedEntry } from './logs.ts';

const HEADER_BYTES = 13;
const STREAMS = ['stdout', 'stderr'] as const;
/** No piece is longer, so that a reader who takes a whole frame at a time always gets on. */
export const MAX_PIECE_BYTES = 64 * 1024;
export const MAX_FRAME_BYTES = HEADER_BYTES + MAX_PIECE_BYTES;

/**
 * Cut between characters and never inside one: whoever reads on from any piece sees whole text. Bytes that come as whole
 * characters leave so; the others pass as they are.
 */
export function* piecesOf(bytes: Buffer, maxBytes = MAX_PIECE_BYTES): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    const most = bytes.subarray(from, from + maxBytes);
    const isLast = from + most.length === bytes.length;
    const piece = isLast ? most : most.subarray(0, most.length - unfinishedBytes(most));
    yield piece;
    from += piece.length;
  }
}

/** Each piece with its stream, time and length before it: what is cut off at the end can be told. */
export function writeFrames(stream: LogEntry['stream'], bytes: Buffer, timeMs: number): Buffer {
  const frames: Buffer[] = [];
  for (const piece of piecesOf(bytes)) {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt8(STREAMS.indexOf(stream), 0);
    header.writeDoubleBE(timeMs, 1);
    header.writeUInt32BE(piece.length, 9);
    frames.push(header, piece);
  }
  return Buffer.concat(frames);
}

const MAX_TIME_MS = 8.64e15;

/** Threat: whoever asks for an offset of their own lands in the middle of a frame, and what stands there is no head of one. */
function requireHead(stream: number, timeMs: number, size: number): void {
  const isTime = Number.isInteger(timeMs) && timeMs >= 0 && timeMs <= MAX_TIME_MS;
  if (stream < STREAMS.length && isTime && size > 0 && size <= MAX_PIECE_BYTES) return;
  throw new SkillboxError('USAGE', 'the offset is no place in this log', {
    hint: 'Give one that an answer has named.',
  });
}

/** The whole frames at the beginning of what stands at this offset of the log. */
export function readFrames(buffer: Buffer, offset: number): LogSlice {
  const entries: PlacedEntry[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= buffer.length) {
    const [number, timeMs, size] = [buffer.readUInt8(at), buffer.readDoubleBE(at + 1), buffer.readUInt32BE(at + 9)];
    requireHead(number, timeMs, size);
    if (at + HEADER_BYTES + size > buffer.length) break;
    const bytes = buffer.subarray(at + HEADER_BYTES, at + HEADER_BYTES + size);
    const stream = STREAMS[number] ?? 'stdout';
    at += HEADER_BYTES + size;
    entries.push({ stream, timeMs, bytes, next: offset + at });
  }
  return { entries, offset: offset + at };
}
