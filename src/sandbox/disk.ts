import { readdirSync, readFileSync, statSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../base/index.ts';

/**
 * True past the limit, by bytes or by more entries than bytes would pay for; and for what cannot be measured. `leader` is a
 * process that all others of the run descend from, as the host counts; null when none is left.
 */
export async function overDisk(
  directories: readonly string[],
  diskBytes: number,
  leader: number | null,
): Promise<boolean> {
  let bytes = 0;
  for (const directory of directories) {
    const measured = await measureTree(directory, Math.max(64, Math.floor(diskBytes / 4096)));
    if (measured === null) return true;
    bytes += measured;
  }
  if (bytes > diskBytes || leader === null) return bytes > diskBytes;
  const devices = new Set(directories.flatMap(directory => statOf(directory)?.dev ?? []));
  return bytes + measureNameless(descendants(leader), devices) > diskBytes;
}

/** Bytes below a directory, without following links; null past `maxEntries`, and where something is closed to us. */
async function measureTree(path: string, maxEntries: number): Promise<number | null> {
  let bytes = 0;
  let entries = 0;
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const found = await readdir(next, { withFileTypes: true }).catch((error: unknown) => {
      const vanished = errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR';
      // Threat: a directory without permissions, or deeper than a path can say, holds what nobody counts.
      return vanished ? [] : null;
    });
    if (found === null) return null;
    for (const entry of found) {
      if (++entries > maxEntries) return null;
      const at = join(next, entry.name);
      if (entry.isDirectory()) queue.push(at);
      // Blocks, not size: a sparse file of a terabyte takes nothing.
      else
        bytes += await lstat(at).then(
          info => info.blocks * 512,
          () => 0,
        );
    }
  }
  return bytes;
}

/**
 * Threat: a file that was deleted takes its blocks as long as it is open or mapped, and no directory lists it. What is only on
 * its way through a socket is seen by nobody; a run can have no more such than open files.
 */
function measureNameless(pids: readonly number[], devices: ReadonlySet<number>): number {
  const files = new Map<number, number>();
  for (const pid of pids) {
    for (const name of namesOf(`/proc/${pid}/fd`)) {
      const info = statOf(`/proc/${pid}/fd/${name}`);
      if (info?.isFile() && info.nlink === 0 && devices.has(info.dev)) files.set(info.ino, info.blocks * 512);
    }
    const mapped = new Map<number, number>();
    for (const [, from = '', to = '', major = '', minor = '', inode = ''] of textOf(`/proc/${pid}/maps`).matchAll(
      /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$/gm,
    )) {
      if (!devices.has(deviceOf(Number.parseInt(major, 16), Number.parseInt(minor, 16)))) continue;
      const bytes = Number.parseInt(to, 16) - Number.parseInt(from, 16);
      mapped.set(Number(inode), (mapped.get(Number(inode)) ?? 0) + bytes);
    }
    // How much of it is on the disk is not told here; what is mapped is the most that this process can have filled.
    for (const [inode, bytes] of mapped) if (!files.has(inode)) files.set(inode, bytes);
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function descendants(leader: number): number[] {
  const found = [leader];
  for (const pid of found)
    for (const thread of namesOf(`/proc/${pid}/task`))
      for (const child of textOf(`/proc/${pid}/task/${thread}/children`).split(' '))
        if (child !== '') found.push(Number(child));
  return found;
}

/** As `stat` says it. */
function deviceOf(major: number, minor: number): number {
  return (minor & 0xff) + major * 0x100 + (minor - (minor & 0xff)) * 0x1000;
}

// A process may end at any moment: then it holds nothing.

function statOf(path: string) {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function namesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
