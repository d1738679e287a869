import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';

export type LogEntry = { stream: 'stdout' | 'stderr'; timeMs: number; bytes: Buffer };

const HEADER_BYTES = 13;
const STREAMS = ['stdout', 'stderr'] as const;
/** No piece is longer, so that a reader who takes this much at a time always gets on. */
export const MAX_PIECE_BYTES = 64 * 1024;

/** SB-10: what a run printed, in the order read, each piece with its stream and time. One file, appended as it comes. */
export class LogWriter {
  readonly #fd: number;
  readonly #path: string;
  bytes = 0;

  constructor(directory: string, id: string) {
    this.#path = join(directory, `${id}.log`);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      this.#fd = openSync(this.#path, 'ax', 0o600);
    } catch (cause) {
      throw new SkillboxError('UNWRITABLE', `cannot write the log ${this.#path}`, { cause });
    }
  }

  write(stream: LogEntry['stream'], bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += MAX_PIECE_BYTES) {
      this.#writePiece(stream, bytes.subarray(at, at + MAX_PIECE_BYTES));
    }
  }

  #writePiece(stream: LogEntry['stream'], bytes: Buffer): void {
    const piece = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
    piece.writeUInt8(STREAMS.indexOf(stream), 0);
    piece.writeDoubleBE(Date.now(), 1);
    piece.writeUInt32BE(bytes.length, 9);
    bytes.copy(piece, HEADER_BYTES);
    try {
      // A disk that is nearly full takes a part; the rest must follow, or all that comes later is out of frame.
      for (let at = 0; at < piece.length; ) at += writeSync(this.#fd, piece, at);
    } catch (cause) {
      throw new SkillboxError('UNWRITABLE', `cannot write the log ${this.#path}`, { cause });
    }
    this.bytes += bytes.length;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Reads on from `offset`; a piece that is still being written is left for the next call. */
export function readLog(
  directory: string,
  id: string,
  offset: number,
  maxBytes: number,
): { entries: LogEntry[]; offset: number } {
  const path = join(directory, `${id}.log`);
  if (!existsSync(path)) return { entries: [], offset };
  const fd = openSync(path, 'r');
  try {
    const wanted = Math.max(maxBytes, HEADER_BYTES + MAX_PIECE_BYTES);
    const buffer = Buffer.alloc(Math.min(wanted, Math.max(0, fstatSync(fd).size - offset)));
    const length = readSync(fd, buffer, 0, buffer.length, offset);
    const entries: LogEntry[] = [];
    let at = 0;
    while (at + HEADER_BYTES <= length) {
      const size = buffer.readUInt32BE(at + 9);
      if (at + HEADER_BYTES + size > length) break;
      const bytes = buffer.subarray(at + HEADER_BYTES, at + HEADER_BYTES + size);
      entries.push({ stream: STREAMS[buffer.readUInt8(at)] ?? 'stdout', timeMs: buffer.readDoubleBE(at + 1), bytes });
      at += HEADER_BYTES + size;
    }
    return { entries, offset: offset + at };
  } finally {
    closeSync(fd);
  }
}
