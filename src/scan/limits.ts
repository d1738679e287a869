/** How much of a skill is looked into. What lies beyond is named in the answer, never passed over in silence. */
export type ScanLimits = {
  /** A file above this size is not read. */
  maxFileBytes: number;
  maxTotalBytes: number;
  /** The last resort, should a text be slower than every text that was thought of. */
  maxMs: number;
  /** Of one rule in one file; a thousand equal lines say no more than a few. */
  maxFindingsPerRule: number;
};

export const SCAN_LIMITS: ScanLimits = {
  maxFileBytes: 4 * 1024 ** 2,
  maxTotalBytes: 24 * 1024 ** 2,
  maxMs: 10_000,
  maxFindingsPerRule: 5,
};

/**
 * No pattern ever sees more than this many characters at once; a longer line is looked at through windows that overlap.
 * With bounded repetition in every pattern, the work grows with the text and no faster.
 */
export const WINDOW_CHARS = 2000;
export const WINDOW_OVERLAP = 300;
