import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { MAX_FRAME_BYTES, readFrames, writeFrames } from './log-frames.ts';
import type { LogEntry, LogSlice, RunLog, RunLogs } from './logs.ts';

/** Logs as files, one for each run. */
export function createLogFiles(directory: string): RunLogs {
  return {
    create: ({ id, attempt }, onKept) => LogWriter.create(directory, id, attempt > 1, onKept),
    read: async (id, offset, maxBytes) => readLog(directory, id, offset, maxBytes),
    async remove(ids) {
      for (const id of ids) await rm(pathOf(directory, id), { force: true });
    },
  };
}

function pathOf(directory: string, id: string): string {
  return join(directory, `${id}.log`);
}

/**
 * One file, appended as it comes, and made with the first word: many runs have nothing to say. That of a further attempt is made at
 * once, so that whoever still has the earlier one finds the place taken.
 */
export class LogWriter implements RunLog {
  #fd: number | 'none yet' | 'closed';
  readonly #path: string;
  readonly #onKept: () => void;
  bytes = 0;

  private constructor(path: string, fd: number | 'none yet', onKept: () => void) {
    this.#path = path;
    this.#fd = fd;
    this.#onKept = onKept;
  }

  /** Fails where no log could be written: what cannot be logged does not run. */
  static async create(directory: string, id: string, replaces = false, onKept = () => {}): Promise<LogWriter> {
    const path = pathOf(directory, id);
    try {
      if (!isWritable(directory)) await mkdir(directory, { recursive: true, mode: 0o700 });
      if (!replaces && existsSync(path)) throw new Error('there is one');
      if (!replaces) return new LogWriter(path, 'none yet', onKept);
      // Removed, not emptied: whoever still has it open writes into nothing.
      await rm(path, { force: true });
      return new LogWriter(path, openNew(path), onKept);
    } catch (cause) {
      throw unwritable(path, cause);
    }
  }

  write(stream: LogEntry['stream'], bytes: Buffer): void {
    const frames = writeFrames(stream, bytes, Date.now());
    try {
      if (this.#fd === 'closed') throw new Error('it is closed');
      if (this.#fd === 'none yet') this.#fd = openNew(this.#path);
      // A disk that is nearly full takes a part; the rest must follow, or all that comes later is out of frame.
      for (let at = 0; at < frames.length; ) at += writeSync(this.#fd, frames, at);
    } catch (cause) {
      if (isFull(cause)) this.#makeRoom();
      throw unwritable(this.#path, cause);
    }
    this.bytes += bytes.length;
    this.#onKept();
  }

  /** The run ends with this, and its end is written to the same disk: what it printed last gives way to how it ended. */
  #makeRoom(): void {
    if (typeof this.#fd !== 'number') return;
    try {
      ftruncateSync(this.#fd, Math.max(0, fstatSync(this.#fd).size - ROOM_BYTES));
    } catch {
      // The first fault is the one to tell.
    }
  }

  async close(): Promise<void> {
    if (typeof this.#fd === 'number') closeSync(this.#fd);
    this.#fd = 'closed';
  }
}

/** For the end of a run in the store and in the journal, several times over. */
const ROOM_BYTES = 1024 * 1024;

function isFull(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOSPC' || errno === 'EDQUOT';
}

function openNew(path: string): number {
  return openSync(path, 'ax', 0o600);
}

function unwritable(path: string, cause: unknown): SkillboxError {
  return new SkillboxError('UNWRITABLE', `cannot write the log ${path}`, { cause });
}

/** False when it is not there; throws when no file can be made in it. */
function isWritable(directory: string): boolean {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  if (!stats.isDirectory()) throw new Error('it is no directory');
  accessSync(directory, constants.W_OK | constants.X_OK);
  return true;
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
