import { closeSync, read, realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { FileEntry, Folder, FolderOrigin } from './folder.ts';
import { checkSize, closedFolder, missingFile } from './folder-errors.ts';
import type { Found } from './inspect.ts';
import { completeLimits, type FolderLimits } from './limits.ts';
import { changedError, checkUnchanged, openSnapshot, readSnapshot, type Snapshot } from './snapshot.ts';
import { walk } from './walk.ts';

const readAsync = promisify(read);

const CHUNK_BYTES = 64 * 1024;
/** Small files are kept once read, so that lint, digest and package see one and the same content. */
const CACHED_FILE_BYTES = 64 * 1024;
const CACHED_TOTAL_BYTES = 4 * 1024 ** 2;

/** A skill's directory as a snapshot. What is wrong inside is in `problems`; only a directory that is not there throws. */
export function openDirectory(path: string, limits: Partial<FolderLimits> = {}): Folder {
  const given = resolve(path);
  try {
    // the folder itself may be a link; from here on only its real path is used.
    const root = realpathSync.native(given);
    const { files, problems } = walk(root, completeLimits(limits));
    return new DirectoryFolder(root, basename(given) || null, files, problems);
  } catch (error) {
    throw translate(error, given);
  }
}

function translate(error: unknown, path: string): unknown {
  const shown = visibleLine(path);
  const errno = errnoOf(error);
  if (errno === 'ENOENT' || errno === 'ELOOP') {
    return new SkillboxError('NOT_FOUND', `There is no folder ${shown}`, { cause: error });
  }
  if (errno === 'ENOTDIR') return new SkillboxError('NOT_A_SKILL', `${shown} is not a folder`, { cause: error });
  if (errno === 'EACCES' || errno === 'EPERM') {
    return new SkillboxError('UNREADABLE', `The folder ${shown} cannot be read`, { cause: error });
  }
  return error;
}

class DirectoryFolder implements Folder {
  readonly origin: FolderOrigin;
  readonly name: string | null;
  readonly files: readonly FileEntry[];
  readonly problems: readonly Diagnostic[];
  readonly #found: ReadonlyMap<string, Found>;
  readonly #cache = new Map<string, Buffer>();
  #cachedBytes = 0;
  #closed = false;

  constructor(root: string, name: string | null, found: Found[], problems: Diagnostic[]) {
    this.origin = { kind: 'directory', path: root };
    this.name = name;
    this.files = found.map(({ entry }) => entry);
    this.problems = problems;
    this.#found = new Map(found.map(one => [one.entry.path, one]));
  }

  file(path: string): FileEntry | null {
    return this.#found.get(path)?.entry ?? null;
  }

  read(path: string, maxBytes: number): Buffer {
    const { entry, snapshot } = this.#get(path);
    checkSize(entry, maxBytes);
    const cached = this.#cache.get(path);
    // A copy: a caller that writes into its buffer must not change the snapshot.
    if (cached !== undefined) return Buffer.from(cached);
    const content = readSnapshot(this.origin.path, snapshot);
    this.#keep(path, content);
    return content;
  }

  async *stream(path: string): AsyncGenerator<Buffer> {
    const { entry, snapshot } = this.#get(path);
    if (entry.size > CACHED_FILE_BYTES) yield* this.#streamLarge(snapshot);
    else if (entry.size > 0) yield this.read(path, entry.size);
    // An empty file is still opened: it may not be empty any more.
    else this.read(path, 0);
  }

  close(): void {
    this.#closed = true;
    this.#cache.clear();
  }

  async *#streamLarge(snapshot: Snapshot): AsyncGenerator<Buffer> {
    const fd = openSnapshot(this.origin.path, snapshot);
    try {
      const size = Number(snapshot.state.size);
      for (let at = 0; at < size; ) {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
        const { bytesRead } = await readAsync(fd, chunk, 0, chunk.length, at);
        if (bytesRead === 0) throw changedError(snapshot.path);
        at += bytesRead;
        // Before the last piece is given away, so that nobody ends with content that changed under his hands.
        if (at === size) checkUnchanged(fd, snapshot);
        yield chunk.subarray(0, bytesRead);
      }
    } finally {
      closeSync(fd);
    }
  }

  #get(path: string): Found {
    if (this.#closed) throw closedFolder(this.origin.path);
    const found = this.#found.get(path);
    if (found === undefined) throw missingFile(path);
    return found;
  }

  #keep(path: string, content: Buffer): void {
    if (content.length > CACHED_FILE_BYTES || this.#cachedBytes + content.length > CACHED_TOTAL_BYTES) return;
    this.#cachedBytes += content.length;
    this.#cache.set(path, Buffer.from(content));
  }
}
