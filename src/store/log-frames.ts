import type { LogEntry, LogSlice, PlacedEntry } from './logs.ts';

const HEADER_BYTES = 13;
const STREAMS = ['stdout', 'stderr'] as const;
/** No piece is longer, so that a reader who takes a whole frame at a time always gets on. */
export const MAX_PIECE_BYTES = 64 * 1024;
export const MAX_FRAME_BYTES = HEADER_BYTES + MAX_PIECE_BYTES;

/** Each piece with its stream, time and length before it: what is cut off at the end can be told. */
export function writeFrames(stream: LogEntry['stream'], bytes: Buffer, timeMs: number): Buffer {
  const count = Math.ceil(bytes.length / MAX_PIECE_BYTES);
  const frames = Buffer.allocUnsafe(bytes.length + count * HEADER_BYTES);
  let at = 0;
  for (let from = 0; from < bytes.length; from += MAX_PIECE_BYTES) {
    const length = Math.min(MAX_PIECE_BYTES, bytes.length - from);
    frames.writeUInt8(STREAMS.indexOf(stream), at);
    frames.writeDoubleBE(timeMs, at + 1);
    frames.writeUInt32BE(length, at + 9);
    bytes.copy(frames, at + HEADER_BYTES, from, from + length);
    at += HEADER_BYTES + length;
  }
  return frames;
}

/** The whole frames at the beginning of what stands at this offset of the log. */
export function readFrames(buffer: Buffer, offset: number): LogSlice {
  const entries: PlacedEntry[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= buffer.length) {
    const size = buffer.readUInt32BE(at + 9);
    if (at + HEADER_BYTES + size > buffer.length) break;
    const bytes = buffer.subarray(at + HEADER_BYTES, at + HEADER_BYTES + size);
    const stream = STREAMS[buffer.readUInt8(at)] ?? 'stdout';
    const timeMs = buffer.readDoubleBE(at + 1);
    at += HEADER_BYTES + size;
    entries.push({ stream, timeMs, bytes, next: offset + at });
  }
  return { entries, offset: offset + at };
}
