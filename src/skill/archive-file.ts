import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import { refuse } from './archive-refusal.ts';
import { closedFolder } from './folder-errors.ts';
import { changedError, type FileState, isSameState, stateOf } from './snapshot.ts';

/** The archive on disk, held open from the first check to the last read: a new file under its name is never read. */
export class ArchiveFile {
  readonly path: string;
  readonly bytes: number;
  readonly #state: FileState;
  #fd: number | null;

  constructor(path: string) {
    this.path = findFile(resolve(path));
    this.#fd = openFile(this.path);
    const stats = fstatSync(this.#fd, { bigint: true });
    this.#state = stateOf(stats);
    this.bytes = Number(stats.size);
    if (stats.isFile()) return;
    this.close();
    throw new SkillboxError('NOT_A_SKILL', `${visibleLine(this.path)} is not a file`);
  }

  get fd(): number {
    // After close the number may belong to another file, which must never be read in the name of this one.
    if (this.#fd === null) throw closedFolder(this.path);
    return this.#fd;
  }

  read(start: number, end: number): Buffer {
    const buffer = Buffer.allocUnsafe(end - start);
    for (let at = 0; at < buffer.length; ) {
      const count = readSync(this.fd, buffer, at, buffer.length - at, start + at);
      if (count === 0) throw refuse('truncated', null, 'ends before its data');
      at += count;
    }
    return buffer;
  }

  /** The file may also be written in place, and a CRC is easily forged. Losing its name counts as a change, too. */
  checkUnchanged(): void {
    if (!isSameState(fstatSync(this.fd, { bigint: true }), this.#state)) throw changedError(this.path);
  }

  close(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
  }
}

function findFile(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    throw translate(error, path);
  }
}

function openFile(path: string): number {
  try {
    // O_NONBLOCK: opening a FIFO must not wait for somebody to write into it.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw translate(error, path);
  }
}

function translate(cause: unknown, path: string): SkillboxError {
  const missing = ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(cause) ?? '');
  return missing
    ? new SkillboxError('NOT_FOUND', `There is no file ${visibleLine(path)}`, { cause })
    : new SkillboxError('UNREADABLE', `${visibleLine(path)} cannot be read (${errnoOf(cause)})`, { cause });
}
