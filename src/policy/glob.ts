import { createGlob } from '../skill/index.ts';

/** A pattern as it was written, and made ready. `*` stays within a part between slashes, `**` does not. */
export type Glob = { text: string; matches: (subject: string) => boolean };

export const MAX_GLOB = 256;

export function toGlob(text: string): Glob {
  return { text, matches: createGlob(text) };
}

export function matchesAny(globs: readonly Glob[], subject: string): boolean {
  return globs.some(glob => glob.matches(subject));
}
