import type { Writable } from 'node:stream';
import type { WrittenArchive } from './archive-write.ts';
import type { Folder } from './folder.ts';
import type { FolderLimits } from './limits.ts';

/** Archives are loaded when one is met: most skills are folders, and zips bring compression and streams along. */
export async function openArchive(path: string, limits: Partial<FolderLimits> = {}): Promise<Folder> {
  const { openArchive: open } = await import('./archive-read.ts');
  return open(path, limits);
}

export async function writeArchive(folder: Folder, sink: Writable | string): Promise<WrittenArchive> {
  const { writeArchive: write } = await import('./archive-write.ts');
  return write(folder, sink);
}
