import { DISCOVER_OPTIONS, type DiscoverOptions, type Discovery, discover } from './discover.ts';
import { FolderWatches, targetsOf } from './folder-watches.ts';
import type { IndexCache } from './index-cache.ts';
import type { CatalogPlace } from './places.ts';
import type { Records } from './records.ts';

export type WatchOptions = DiscoverOptions & {
  /** Waits so long after the last sign of a change before looking. */
  debounceMs: number;
  /** Looks so often without any sign: links may lead where nothing is watched. */
  rescanMs: number;
  /** Looks so often when not every directory can be watched. */
  pollMs: number;
  maxWatches: number;
};

export const WATCH_OPTIONS: WatchOptions = {
  ...DISCOVER_OPTIONS,
  debounceMs: 50,
  rescanMs: 10_000,
  pollMs: 1000,
  maxWatches: 8192,
};

/** An index that is kept fresh while a server runs. */
export type CatalogWatch = {
  /** As of the last look. */
  current(): Discovery;
  /** Looks now: for whoever must not be told what was true a moment ago. */
  refresh(): Discovery;
  close(): void;
};

/**
 * Watches the places. The system's messages are only hints that something happened: what happened is found by looking
 * again, which costs little with the records of the last look. So no lost, doubled or misnamed message can make the index
 * wrong for longer than `rescanMs`. `onChange` hears of every difference.
 */
export function watchCatalog(
  places: readonly CatalogPlace[],
  onChange: (now: Discovery, before: Discovery) => void,
  partial: Partial<WatchOptions> = {},
): CatalogWatch {
  const options = { ...WATCH_OPTIONS, ...partial };
  const cache = new Memory(options.cache);
  const watches = new FolderWatches(options.maxWatches, () => soon());
  let closed = false;
  let pending: NodeJS.Timeout | null = null;
  let timer: NodeJS.Timeout | null = null;

  const look = (): Discovery => {
    if (pending !== null) clearTimeout(pending);
    pending = null;
    const folders = new Map<string, number>();
    const found = discover(places, { ...options, cache, folders });
    // A directory that is watched only now may have changed since it was read: look once more.
    if (watches.follow(targetsOf(places, folders))) soon();
    return found;
  };
  const refresh = (): Discovery => {
    const before = current;
    current = look();
    if (!isEqual(before, current)) onChange(current, before);
    return current;
  };
  const soon = (): void => {
    if (closed || pending !== null) return;
    pending = setTimeout(refresh, options.debounceMs).unref();
  };
  const later = (): void => {
    const wait = watches.complete ? options.rescanMs : options.pollMs;
    timer = setTimeout(() => {
      refresh();
      later();
    }, wait).unref();
  };
  let current = look();
  later();
  return {
    current: () => current,
    refresh,
    close() {
      closed = true;
      if (pending !== null) clearTimeout(pending);
      if (timer !== null) clearTimeout(timer);
      watches.close();
    },
  };
}

/** The records of the last look; the cache on disk serves the first one only. */
class Memory implements IndexCache {
  readonly #disk: IndexCache;
  readonly #records = new Map<string, Records>();

  constructor(disk: IndexCache) {
    this.#disk = disk;
  }

  load(root: string): Records {
    return this.#records.get(root) ?? this.#disk.load(root);
  }

  save(root: string, records: Records): void {
    if (!this.#records.has(root)) this.#disk.save(root, records);
    this.#records.set(root, records);
  }
}

function isEqual(a: Discovery, b: Discovery): boolean {
  return JSON.stringify([a.skills, a.broken, a.problems]) === JSON.stringify([b.skills, b.broken, b.problems]);
}
