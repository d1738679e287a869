import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { createDigest, type Folder } from '../skill/index.ts';

export type Snapshot = { path: string; digest: string; entries: string[] };

/**
 * a copy of exactly the digested files, kept by digest and never written again. A run executes from here, so nothing
 * can change between what was read, approved and run.
 */
export async function takeSnapshot(folder: Folder, directory: string): Promise<Snapshot> {
  const aside = join(directory, `.${randomUUID()}.part`);
  await mkdir(aside, { recursive: true, mode: 0o700 });
  try {
    const digest = await copyFiles(folder, aside);
    const path = join(directory, digest.replace(':', '-'));
    if (existsSync(path)) await rm(aside, { recursive: true });
    else await settle(aside, path);
    return { path, digest, entries: (await readdir(path)).sort() };
  } catch (cause) {
    await rm(aside, { recursive: true, force: true });
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `cannot keep a snapshot in ${directory}`, { cause });
  }
}

async function copyFiles(folder: Folder, target: string): Promise<string> {
  const digest = createDigest();
  for (const file of folder.files) {
    const path = join(target, file.path);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    digest.begin(file);
    const content = async function* () {
      for await (const chunk of folder.stream(file.path)) {
        digest.add(chunk);
        yield chunk;
      }
    };
    await pipeline(content, createWriteStream(path, { flags: 'wx', mode: file.executable ? 0o555 : 0o444 }));
  }
  return digest.end();
}

async function settle(aside: string, path: string): Promise<void> {
  await chmod(aside, 0o755);
  try {
    await rename(aside, path);
  } catch (cause) {
    // Another process kept the same digest meanwhile; its bytes are these bytes.
    if (errnoOf(cause) !== 'ENOTEMPTY' && errnoOf(cause) !== 'EEXIST') throw cause;
    await rm(aside, { recursive: true });
  }
}
