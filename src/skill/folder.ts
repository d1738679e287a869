import type { Diagnostic } from './diagnostic.ts';

/** A regular file of the skill. Paths use `/`, are relative, and hold no `.` or `..` segment. */
export type FileEntry = { path: string; size: number; executable: boolean };

/** Of a registry: `path` names the skill there, whatever its version, and `publisher` is who was let in to publish it. */
export type FolderOrigin =
  | { kind: 'directory' | 'archive'; path: string }
  | { kind: 'registry'; path: string; publisher: string };

/**
 * A read-only snapshot of a skill's files, from a directory or a zip: what is linted is what is packed is what runs.
 * The list of files is fixed when it is opened; a file that changes afterwards is refused with SKILL_CHANGED.
 */
export interface Folder {
  readonly origin: FolderOrigin;
  /** The folder's own name: the directory's, or the archive's single top folder, or null where an archive has none. */
  readonly name: string | null;
  /** Sorted by the bytes of the path. */
  readonly files: readonly FileEntry[];
  /** What was found but not taken: links that leave the folder, special files, secrets. Severities are strict ones. */
  readonly problems: readonly Diagnostic[];
  file(path: string): FileEntry | null;
  /** The whole content; more than `maxBytes` is refused. */
  read(path: string, maxBytes: number): Buffer;
  /** The content in chunks, exactly `size` bytes of it. */
  stream(path: string): AsyncIterable<Buffer>;
  close(): void;
}

/** Byte order of UTF-8, which is not the order of JavaScript's strings beyond the basic plane. */
export function comparePaths(a: string, b: string): number {
  return isAscii(a) && isAscii(b) ? (a < b ? -1 : a > b ? 1 : 0) : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text);
}
