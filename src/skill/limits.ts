/** How much of a folder or an archive is looked at before reading stops. */
export type FolderLimits = { maxFiles: number; maxBytes: number };

export const DEFAULT_LIMITS: FolderLimits = { maxFiles: 10_000, maxBytes: 256 * 1024 ** 2 };

/** An archive's entry may grow without question up to this size; beyond it, the ratio counts. */
export const RATIO_FREE_BYTES = 1024 ** 2;
/** Text and code stay below 20:1 and deflate ends at 1032:1; what lies between is a bomb or a test pattern. */
export const MAX_RATIO = 200;

export function completeLimits(limits: Partial<FolderLimits>): FolderLimits {
  return { ...DEFAULT_LIMITS, ...limits };
}

/** Directories, links and ignored names cost time too, so the sum of everything that is looked at has its own bound. */
export function maxEntries(limits: FolderLimits): number {
  return limits.maxFiles * 2;
}
