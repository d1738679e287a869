import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf, isUnusedSince, markUsed, SkillboxError } from '../base/index.ts';
import { createDigest, digestFolder, type Folder, openDirectory } from '../skill/index.ts';
import { discard, partPath, type Writer } from '../store/index.ts';

export type Snapshot = { path: string; digest: string; entries: string[] };

/**
 * a copy of exactly the digested files, kept by digest and never written again. A run executes from here, so nothing
 * can change between what was read, approved and run.
 */
export async function takeSnapshot(folder: Folder, directory: string, writer: Writer): Promise<Snapshot> {
  const digest = await digestFolder(folder);
  const path = snapshotPath(directory, digest);
  if (!markUsed(path)) await keep(folder, digest, path, partPath(directory, writer));
  // Synchronous: a trip to the thread pool takes longer than the call.
  return { path, digest, entries: readdirSync(path).sort() };
}

export function snapshotPath(directory: string, digest: string): string {
  return join(directory, digest.replace(':', '-'));
}

/** A kept snapshot, read as if it still lay where it came from: name and origin are those of the folder that it was. */
export function openKept(dataDirectory: string, digest: string, from: Pick<Folder, 'name' | 'origin'>): Folder {
  const kept = openDirectory(snapshotPath(dataDirectory, digest));
  return {
    origin: from.origin,
    name: from.name,
    files: kept.files,
    problems: kept.problems,
    file: path => kept.file(path),
    read: (path, maxBytes) => kept.read(path, maxBytes),
    stream: path => kept.stream(path),
    close: () => kept.close(),
  };
}

const SNAPSHOT = /^sb1-sha256-[0-9a-f]{64}$/;

/**
 * Removes what no run has used since then, and none that is on its way will. Renamed first: a snapshot is there whole or not
 * at all. Answers how many there were.
 */
export async function pruneSnapshots(
  dataDirectory: string,
  unusedSince: number,
  needed: ReadonlySet<string>,
  writer: Writer,
): Promise<number> {
  const kept = new Set([...needed].map(digest => digest.replace(':', '-')));
  let removed = 0;
  for (const folder of ['compiled', 'snapshots']) {
    const directory = join(dataDirectory, folder);
    for (const name of await readdir(directory).catch(() => [])) {
      const path = join(directory, name);
      const snapshot = join(dataDirectory, 'snapshots', name);
      if (!SNAPSHOT.test(name) || kept.has(name) || !isUnusedSince(path, unusedSince)) continue;
      // What was compiled from a snapshot is used with it.
      if (folder === 'compiled' && existsSync(snapshot) && !isUnusedSince(snapshot, unusedSince)) continue;
      const aside = partPath(directory, writer);
      await rename(path, aside).catch(() => undefined); // another process was faster
      await discard(aside);
      if (folder === 'snapshots') removed++;
    }
  }
  return removed;
}

async function keep(folder: Folder, digest: string, path: string, aside: string): Promise<void> {
  try {
    await mkdir(dirname(aside), { recursive: true, mode: 0o700 });
    await mkdir(aside, { mode: 0o700 });
    if ((await copyFiles(folder, aside)) !== digest) {
      throw new SkillboxError('SKILL_CHANGED', 'the skill changed while it was copied');
    }
    await chmod(aside, 0o755);
    await rename(aside, path).catch(async (cause: unknown) => {
      // Another process kept the same digest meanwhile; its bytes are these bytes.
      if (errnoOf(cause) !== 'ENOTEMPTY' && errnoOf(cause) !== 'EEXIST') throw cause;
      await discard(aside);
    });
  } catch (cause) {
    await discard(aside);
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `cannot keep a snapshot in ${dirname(path)}`, { cause });
  }
}

async function copyFiles(folder: Folder, target: string): Promise<string> {
  const digest = createDigest();
  const made = new Set([target]);
  for (const file of folder.files) {
    const path = join(target, file.path);
    await makeDirectory(dirname(path), made);
    digest.begin(file);
    const content = async function* () {
      for await (const chunk of folder.stream(file.path)) {
        digest.add(chunk);
        yield chunk;
      }
    };
    // Flushed, because the name that it gets says what is in it, also after a crash of the machine.
    await writeFile(path, content(), { flag: 'wx', flush: true });
    // The umask of whoever runs us is not part of the digest.
    await chmod(path, file.executable ? 0o555 : 0o444);
  }
  return digest.end();
}

async function makeDirectory(path: string, made: Set<string>): Promise<void> {
  if (made.has(path)) return;
  await makeDirectory(dirname(path), made);
  await mkdir(path);
  await chmod(path, 0o755);
  made.add(path);
}
