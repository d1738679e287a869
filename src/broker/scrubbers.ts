import { Scrubber } from './scrub.ts';

const NOTHING = new Scrubber([]);

/**
 * What this host may hold must not come back. Threat: one that keeps a key could say it to a later request that has none. Scrubbers are
 * kept, because spelling a value in every way takes its time.
 */
export function scrubberFor(kept: Map<string, Scrubber>, host: string, known: readonly string[]): Scrubber {
  if (known.length === 0) return NOTHING;
  const found = kept.get(host) ?? new Scrubber(known);
  kept.set(host, found);
  return found;
}
