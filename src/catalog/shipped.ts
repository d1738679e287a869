import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Summary } from '../dialects/index.ts';
import type { FileEntry, Folder } from '../skill/index.ts';

/**
 * What the build read of the skills that ship with Skillbox, by the names of their folders: to read them costs as much as starting
 * Node, for some with the parser for Markdown. An entry stands for exactly the files that are in it: they are small, and to
 * compare them takes less than to read any of them.
 */
export type Shipped = Readonly<Record<string, { files: readonly ShippedFile[]; summary: Summary }>>;
export type ShippedFile = Pick<FileEntry, 'path' | 'executable'> & { text: string };

declare const SKILLBOX_SHIPPED: Shipped | undefined;
/** Put in by the build; the sources themselves have none. */
const SHIPPED: Shipped = typeof SKILLBOX_SHIPPED === 'undefined' ? {} : SKILLBOX_SHIPPED;

const OPEN = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** The summary of that folder if it is one that we ship, byte for byte; null if it is another. */
export function shippedSummary(path: string, shipped: Shipped = SHIPPED): Summary | null {
  const name = basename(path);
  const known = Object.hasOwn(shipped, name) ? shipped[name] : undefined;
  return known !== undefined && holdsExactly(path, known.files) ? known.summary : null;
}

/** For the build. Null of a folder in which there is anything but plain files. */
export function shippedFiles(folder: Folder): ShippedFile[] | null {
  if (folder.problems.length > 0) return null;
  return folder.files.map(({ path, size, executable }) => {
    return { path, executable, text: folder.read(path, size).toString('latin1') };
  });
}

function holdsExactly(path: string, files: readonly ShippedFile[]): boolean {
  const expected = new Map(files.map(file => [file.path, file]));
  const folders = new Set(files.flatMap(file => foldersAbove(file.path)));
  try {
    return countSame(path, '', expected, folders) === files.length;
  } catch {
    return false; // it changed meanwhile, or is closed to us: the reader finds out, and says it
  }
}

function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

/** How many of these files are in that folder; NaN when anything else is, too. */
function countSame(
  root: string,
  folder: string,
  expected: ReadonlyMap<string, ShippedFile>,
  folders: ReadonlySet<string>,
): number {
  let count = 0;
  for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const file = expected.get(path);
    if (entry.isDirectory() && folders.has(path)) count += countSame(root, path, expected, folders);
    else if (file === undefined || !isSame(`${root}/${path}`, file)) return Number.NaN;
    else count++;
  }
  return count;
}

function isSame(path: string, { executable, text }: ShippedFile): boolean {
  const fd = openSync(path, OPEN);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size !== text.length || ((stats.mode & 0o111) !== 0) !== executable) return false;
    return readFileSync(fd, 'latin1') === text;
  } finally {
    closeSync(fd);
  }
}
