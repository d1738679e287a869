import type { Summary } from '../dialects/index.ts';
import type { FileEntry, Folder } from '../skill/index.ts';

/**
 * What the build read of the skills that ship with Skillbox, by their label: some of them have to be read whole, with the
 * parser for Markdown, which costs more than starting Node. An entry stands for exactly the files that are in it: they are small, and
 * to compare them takes less than loading what makes a digest.
 */
export type Shipped = Readonly<Record<string, { files: readonly ShippedFile[]; summary: Summary }>>;
export type ShippedFile = Pick<FileEntry, 'path' | 'executable'> & { text: string };

declare const SKILLBOX_SHIPPED: Shipped | undefined;
/** Put in by the build; the sources themselves have none. */
const SHIPPED: Shipped = typeof SKILLBOX_SHIPPED === 'undefined' ? {} : SKILLBOX_SHIPPED;

/** What the whole reader says about this folder, if the build has asked it; null otherwise. */
export function shippedSummary(folder: Folder, shipped: Shipped = SHIPPED): Summary | null {
  const label = shippedLabel(folder);
  const known = label !== null && Object.hasOwn(shipped, label) ? shipped[label] : undefined;
  if (known === undefined || known.files.length !== folder.files.length) return null;
  return known.files.every((file, at) => isSame(folder, folder.files[at], file)) ? known.summary : null;
}

/** What is known without reading a file: the folder's name, which a reader may complain about, and its size. */
export function shippedLabel({ name, files, problems }: Folder): string | null {
  if (name === null || problems.length > 0) return null;
  return `${name} ${files.reduce((sum, { size }) => sum + size, 0)}`;
}

export function shippedFiles(folder: Folder): ShippedFile[] {
  return folder.files.map(({ path, size, executable }) => {
    return { path, executable, text: folder.read(path, size).toString('latin1') };
  });
}

function isSame(folder: Folder, found: FileEntry | undefined, { path, executable, text }: ShippedFile): boolean {
  if (found?.path !== path || found.executable !== executable || found.size !== text.length) return false;
  return folder.read(path, found.size).toString('latin1') === text;
}
