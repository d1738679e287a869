import { renameSync } from 'node:fs';
import { mkdir, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf, hold, placeIn, release } from '../base/index.ts';
import type { Planted } from './sandbox.ts';
import { openShut, openToChange } from './shut.ts';

/** Moves what was planted out of the workspace. Null when it would not go: the result then says so. */
export async function quarantine(root: string, planted: readonly string[], to: string): Promise<Planted[]> {
  const moved: Planted[] = [];
  // Deepest last: when a directory went, what lay in it went too.
  for (const [index, path] of [...planted].sort().entries()) {
    if (moved.some(other => other.movedTo !== null && path.startsWith(`${other.path}/`))) continue;
    const target = join(to, `${index}-${basename(path)}`);
    try {
      // A link in the way would make us move something of somebody else's.
      if ((await realpath(dirname(join(root, path)))) !== dirname(join(root, path))) {
        moved.push({ path, movedTo: null });
        continue;
      }
      for (const changed of [dirname(join(root, path)), join(root, path)]) openToChange(changed);
      await mkdir(to, { recursive: true, mode: 0o700 });
      await rename(join(root, path), target);
      behead(target);
      moved.push({ path, movedTo: target });
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') continue;
      moved.push(await disarm(root, path));
    }
  }
  return moved;
}

/** Threat: git takes a folder with a HEAD for a repository whatever its name, also for whoever goes there to look at it. */
function behead(path: string): void {
  openShut(path);
  try {
    const folder = hold(path);
    try {
      renameSync(placeIn(folder, 'HEAD'), placeIn(folder, 'HEAD.planted'));
    } finally {
      release(folder);
    }
  } catch {
    // A file or a link, or a folder without one.
  }
}

/** Another file system, or not ours to move: renamed in place, to a name that nothing obeys. */
async function disarm(root: string, path: string): Promise<Planted> {
  const target = join(root, `${path}.planted-${Date.now().toString(36)}`);
  try {
    await rename(join(root, path), target);
    behead(target);
    return { path, movedTo: target };
  } catch {
    return { path, movedTo: null }; // the outcome names it with null, and the run is not a success
  }
}
