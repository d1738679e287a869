import type { Summary } from '../dialects/index.ts';
import { createDigest, type Folder } from '../skill/index.ts';

/**
 * What the build read of the skills that ship with Skillbox, by their label: some of them have to be read whole, with the
 * parser for Markdown, which costs more than starting Node. An entry stands for exactly the files whose digest it has.
 */
export type Shipped = Readonly<Record<string, { digest: string; summary: Summary }>>;

declare const SKILLBOX_SHIPPED: Shipped | undefined;
/** Put in by the build; the sources themselves have none. */
const SHIPPED: Shipped = typeof SKILLBOX_SHIPPED === 'undefined' ? {} : SKILLBOX_SHIPPED;

/** What the whole reader says about this folder, if the build has asked it; null otherwise. */
export function shippedSummary(folder: Folder, shipped: Shipped = SHIPPED): Summary | null {
  const label = shippedLabel(folder);
  const known = label !== null && Object.hasOwn(shipped, label) ? shipped[label] : undefined;
  return known !== undefined && known.digest === shippedDigest(folder) ? known.summary : null;
}

/** What is known without reading a file: the folder's name, which a reader may complain about, and its size. */
export function shippedLabel({ name, files, problems }: Folder): string | null {
  if (name === null || problems.length > 0) return null;
  return `${name} ${files.reduce((sum, { size }) => sum + size, 0)}`;
}

export function shippedDigest(folder: Folder): string {
  const digest = createDigest();
  for (const file of folder.files) {
    digest.begin(file);
    digest.add(folder.read(file.path, file.size));
  }
  return digest.end();
}
