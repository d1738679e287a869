import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Folder } from '../skill/index.ts';
import { writeFolder } from './write-folder.ts';

/** Where the files of a skill lie for a program that is to read them; those of an archive lie there while `body` goes on. */
export async function withFiles<T>(folder: Folder, body: (path: string) => Promise<T>): Promise<T> {
  if (folder.origin.kind === 'directory') return body(folder.origin.path);
  const above = await mkdtemp(join(tmpdir(), 'skillbox-test-'));
  try {
    const path = join(above, folder.name ?? 'skill');
    const files = folder.files.map(file => ({ ...file, content: folder.stream(file.path) }));
    await writeFolder(path, files, async () => undefined);
    return await body(path);
  } finally {
    await rm(above, { recursive: true, force: true });
  }
}
