import { closeSync, openSync, readSync } from 'node:fs';
import { errnoOf } from '../base/index.ts';

const PIECE_BYTES = 64 * 1024;
const PAUSE_MS = 10;

/** A file or descriptor that the user named; null when it holds more. Bounded while it is read: a pipe or a device need not have an end. */
export function readBounded(from: string | number, maxBytes: number): Buffer | null {
  if (typeof from === 'number') return readAll(from, maxBytes);
  const fd = openSync(from, 'r');
  try {
    return readAll(fd, maxBytes);
  } finally {
    closeSync(fd);
  }
}

function readAll(fd: number, maxBytes: number): Buffer | null {
  const pieces: Buffer[] = [];
  for (let bytes = 0; bytes <= maxBytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, maxBytes + 1 - bytes));
    const read = readSome(fd, piece);
    if (read === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, read));
    bytes += read;
  }
  return null;
}

function readSome(fd: number, buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(fd, buffer, 0, buffer.length, null);
    } catch (error) {
      // Whoever started us may have made the pipe non-blocking: there is nothing yet.
      if (errnoOf(error) !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
