import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { CatalogPlace } from './places.ts';

/** A directory to watch: which one it is, and whose names in it matter (null: all). */
export type WatchTarget = { ino: number; names: Set<string> | null };
export type WatchTargets = Map<string, WatchTarget>;

/**
 * The directories in which a change would show: those that were entered, and for each place the nearest directory above it
 * that exists, where only the way down to the place matters. A home directory changes all the time.
 */
export function targetsOf(places: readonly CatalogPlace[], folders: ReadonlyMap<string, number>): WatchTargets {
  const targets: WatchTargets = new Map();
  for (const { path } of places) {
    for (let child = path, up = dirname(path); child !== up; child = up, up = dirname(up)) {
      const stats = statOf(up);
      if (stats === null) continue;
      const names = targets.get(up)?.names ?? new Set<string>();
      targets.set(up, { ino: stats.ino, names: names.add(basename(child)) });
      break;
    }
  }
  for (const [path, ino] of folders) targets.set(path, { ino, names: null });
  return targets;
}

/** One watch for each directory, up to a number; never recursive, which Linux does not have and Node only plays at. */
export class FolderWatches {
  readonly #max: number;
  readonly #notify: () => void;
  readonly #open = new Map<string, { watcher: FSWatcher; target: WatchTarget }>();
  /** Whether every directory is watched; otherwise somebody has to look often. */
  complete = true;

  constructor(max: number, notify: () => void) {
    this.#max = max;
    this.#notify = notify;
  }

  /** Watches exactly these; true when one of them is new. */
  follow(targets: WatchTargets): boolean {
    for (const [path, { target }] of this.#open) {
      const wanted = targets.get(path);
      // Under an old name a new directory: the watch is on the one that is gone.
      if (wanted === undefined || wanted.ino !== target.ino) this.#drop(path);
      else target.names = wanted.names;
    }
    this.complete = true;
    let added = false;
    for (const [path, target] of targets) {
      if (this.#open.has(path)) continue;
      if (this.#open.size < this.#max && this.#add(path, target)) added = true;
      else this.complete = false;
    }
    return added;
  }

  close(): void {
    for (const path of this.#open.keys()) this.#drop(path);
  }

  #add(path: string, target: WatchTarget): boolean {
    try {
      const watcher = watch(path, { persistent: false }, (event, name) => {
        const { names } = target;
        // Its own name: the directory was moved or removed, and the inode may come back as another one.
        if (event === 'rename' && (name === null || name === basename(path))) this.#drop(path);
        if (names === null || name === null || names.has(name) || name === basename(path)) this.#notify();
      });
      watcher.on('error', () => {
        this.#drop(path);
        this.#notify();
      });
      this.#open.set(path, { watcher, target });
      return true;
    } catch {
      return false; // no more watches to be had, or the directory is gone: the caller looks often instead
    }
  }

  #drop(path: string): void {
    this.#open.get(path)?.watcher.close();
    this.#open.delete(path);
  }
}

function statOf(path: string): { ino: number } | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isDirectory() ? stats : null;
  } catch {
    return null; // closed to us: the next one above it
  }
}
