import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isUnusedSince } from '../base/index.ts';
import { newOwnedId, removeTree, thisOwner } from '../sandbox/index.ts';

const LAYER = /^[0-9a-f]{64}$/;

/** Removes layers that no run has used since then; who needs one later builds it again. Answers how many there were. */
export async function pruneLayers(directory: string, unusedSince: number): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    if (!LAYER.test(name) || !isUnusedSince(path, unusedSince)) continue;
    const work = join(directory, 'work');
    await mkdir(work, { recursive: true, mode: 0o700 });
    // Renamed first: a layer is there whole or not at all.
    const aside = join(work, newOwnedId(thisOwner()));
    await rename(path, aside).catch(() => undefined); // another process was faster
    await removeTree(aside);
    removed++;
  }
  return removed;
}
