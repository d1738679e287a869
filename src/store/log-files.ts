import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { LogEntry, LogSlice, RunLog, RunLogs } from './logs.ts';

const HEADER_BYTES = 13;
const STREAMS = ['stdout', 'stderr'] as const;
/** No piece is longer, so that a reader who takes this much at a time always gets on. */
export const MAX_PIECE_BYTES = 64 * 1024;

/** Logs as files, one for each run. */
export function createLogFiles(directory: string): RunLogs {
  return {
    create: async ({ id, attempt }) => new LogWriter(directory, id, attempt > 1),
    read: async (id, offset, maxBytes) => readLog(directory, id, offset, maxBytes),
    async remove(ids) {
      for (const id of ids) await rm(pathOf(directory, id), { force: true });
    },
  };
}

function pathOf(directory: string, id: string): string {
  return join(directory, `${id}.log`);
}

/** One file, appended as it comes. */
export class LogWriter implements RunLog {
  #fd: number | null;
  readonly #path: string;
  bytes = 0;

  constructor(directory: string, id: string, replaces = false) {
    this.#path = pathOf(directory, id);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      // Removed, not emptied: whoever still has it open writes into nothing.
      if (replaces) rmSync(this.#path, { force: true });
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
      if (this.#fd === null) throw new Error('it is closed');
      // A disk that is nearly full takes a part; the rest must follow, or all that comes later is out of frame.
      for (let at = 0; at < piece.length; ) at += writeSync(this.#fd, piece, at);
    } catch (cause) {
      throw new SkillboxError('UNWRITABLE', `cannot write the log ${this.#path}`, { cause });
    }
    this.bytes += bytes.length;
  }

  async close(): Promise<void> {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/** Reads on from `offset`; a piece that is still being written is left for the next call. */
export function readLog(directory: string, id: string, offset: number, maxBytes: number): LogSlice {
  const path = pathOf(directory, id);
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
