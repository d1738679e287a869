import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { MAX_FRAME_BYTES, readFrames, writeFrames } from './log-frames.ts';
import type { LogEntry, LogSlice, RunLog, RunLogs } from './logs.ts';

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
    const frames = writeFrames(stream, bytes, Date.now());
    try {
      if (this.#fd === null) throw new Error('it is closed');
      // A disk that is nearly full takes a part; the rest must follow, or all that comes later is out of frame.
      for (let at = 0; at < frames.length; ) at += writeSync(this.#fd, frames, at);
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
    const wanted = Math.max(maxBytes, MAX_FRAME_BYTES);
    const buffer = Buffer.alloc(Math.min(wanted, Math.max(0, fstatSync(fd).size - offset)));
    const length = readSync(fd, buffer, 0, buffer.length, offset);
    return readFrames(buffer.subarray(0, length), offset);
  } finally {
    closeSync(fd);
  }
}
