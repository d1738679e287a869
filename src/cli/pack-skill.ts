import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { type Folder, openFolder, writeArchive } from '../skill/index.ts';

/** Runs the body with a skill as a zip: an archive as it is, a folder packed as `skill package` packs it. */
export async function withPacked<T>(path: string, body: (archive: AsyncIterable<Buffer>) => Promise<T>): Promise<T> {
  const folder = await openFolder(path);
  try {
    if (folder.origin.kind === 'archive') return await body(read(folder.origin.path));
    // What was not taken from a folder is not in its zip, so nobody could tell of it afterwards.
    const left = folder.problems.filter(({ severity }) => severity === 'error');
    if (left.length > 0) {
      throw new SkillboxError('INVALID_SKILL', `the folder is not packed: ${left[0]?.message}`, {
        details: { diagnostics: left },
      });
    }
    return await withZip(folder, body);
  } finally {
    folder.close();
  }
}

async function withZip<T>(folder: Folder, body: (archive: AsyncIterable<Buffer>) => Promise<T>): Promise<T> {
  const work = await mkdtemp(join(tmpdir(), 'skillbox-push-'));
  try {
    const path = join(work, 'skill.zip');
    await writeArchive(folder, path);
    return await body(read(path));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function read(path: string): AsyncIterable<Buffer> {
  return createReadStream(path) as AsyncIterable<Buffer>;
}
