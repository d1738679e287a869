import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type LogEntry = { stream: 'stdout' | 'stderr'; timeMs: number; bytes: Buffer };

const HEADER_BYTES = 13;
const STREAMS = ['stdout', 'stderr'] as const;

/** SB-10: what a run printed, in the order read, each piece with its stream and time. One file, appended as it comes. */
export class LogWriter {
  readonly #fd: number;
  bytes = 0;

  constructor(directory: string, id: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#fd = openSync(join(directory, `${id}.log`), 'ax', 0o600);
  }

  write(stream: LogEntry['stream'], bytes: Buffer): void {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(STREAMS.indexOf(stream), 0);
    header.writeDoubleBE(Date.now(), 1);
    header.writeUInt32BE(bytes.length, 9);
    writeSync(this.#fd, Buffer.concat([header, bytes]));
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
    const buffer = Buffer.alloc(Math.min(maxBytes, Math.max(0, fstatSync(fd).size - offset)));
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
