import { closeSync, existsSync, fstatSync, open, openSync, readSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { MAX_FRAME_BYTES, readFrames, writeFrames } from './log-frames.ts';
import type { LogEntry, LogSlice, RunLog, RunLogs } from './logs.ts';

/** Logs as files, one for each run. */
export function createLogFiles(directory: string): RunLogs {
  return {
    create: ({ id, attempt }) => LogWriter.create(directory, id, attempt > 1),
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

  private constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  /** Off the main thread: making a file waits for the file system, and there is a sandbox to be made ready meanwhile. */
  static async create(directory: string, id: string, replaces = false): Promise<LogWriter> {
    const path = pathOf(directory, id);
    try {
      // Removed, not emptied: whoever still has it open writes into nothing.
      if (replaces) await rm(path, { force: true });
      return new LogWriter(path, await openNew(directory, path));
    } catch (cause) {
      throw new SkillboxError('UNWRITABLE', `cannot write the log ${path}`, { cause });
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

const openFile = promisify(open);

/** The directory is made when it turns out not to be there. */
async function openNew(directory: string, path: string): Promise<number> {
  try {
    return await openFile(path, 'ax', 0o600);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return openFile(path, 'ax', 0o600);
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
