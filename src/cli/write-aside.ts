import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { errnoOf, SkillboxError } from '../base/index.ts';

/** Writes a file that is there whole or not at all: aside, to the disk, then under its name. */
export async function writeAside(path: string, body: (file: FileHandle) => Promise<void>): Promise<void> {
  const aside = `${path}.${randomUUID()}.part`;
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await body(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (cause) {
    await rm(aside, { force: true });
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `cannot write ${path} (${errnoOf(cause) ?? String(cause)})`, { cause });
  }
}
