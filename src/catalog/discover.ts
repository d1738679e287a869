import type { BrokenSkill, CatalogSkill } from './found.ts';
import { type IndexCache, NO_CACHE } from './index-cache.ts';
import { type LookAhead, programLookAhead } from './look-ahead.ts';
import { type CatalogPlace, PLACE_KINDS } from './places.ts';
import type { Records } from './records.ts';
import { Seen, WALK_LIMITS, Walk, type Walked, type WalkLimits, type WalkProblem } from './walk.ts';

export type Discovery = {
  places: readonly CatalogPlace[];
  /** In the order of the places, and of the paths in each. */
  skills: readonly CatalogSkill[];
  broken: readonly BrokenSkill[];
  problems: readonly WalkProblem[];
};

export type DiscoverOptions = {
  cache: IndexCache;
  limits: WalkLimits;
  now: () => number;
  /** Where every directory that was entered is noted, with its inode: a change would show there. */
  folders: Map<string, number> | null;
  /** How to look at many folders at once; null: one by one. Left out, it is done as well as this machine can. */
  lookAhead?: LookAhead | null;
};

export const DISCOVER_OPTIONS: DiscoverOptions = { cache: NO_CACHE, limits: WALK_LIMITS, now: Date.now, folders: null };

/** AS-09: every skill in the places. Bounded, and cheap the second time. */
export function discover(places: readonly CatalogPlace[], options: Partial<DiscoverOptions> = {}): Discovery {
  const { cache, limits, now, folders, lookAhead = programLookAhead() } = { ...DISCOVER_OPTIONS, ...options };
  // For each kind alone: a link in a project must not take a skill out of the user's own directory.
  const seen = new Map(PLACE_KINDS.map(kind => [kind, new Seen()]));
  const walked = new Map<CatalogPlace, Walked>();
  for (const place of inOrder(places, lookAhead)) {
    const known = cache.load(place.path);
    // What was found out earlier is as old as that.
    const start = Math.min(now(), lookAhead?.startedAt(place.path) ?? Infinity);
    const context = { place, known, seen: seen.get(place.kind) ?? new Seen(), limits, start, now, folders, lookAhead };
    const found = new Walk(context).run();
    if (isChanged(known, found.records)) cache.save(place.path, found.records);
    walked.set(place, found);
  }
  const all = places.flatMap(place => walked.get(place) ?? []);
  return {
    places,
    skills: all.flatMap(({ found }) => found.skills),
    broken: all.flatMap(({ found }) => found.broken),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/**
 * What a program is looking at already comes last, with all of its kind: meanwhile there is something to do. Kinds know nothing of
 * each other, so the order between them does not show.
 */
function inOrder(places: readonly CatalogPlace[], lookAhead: LookAhead | null): CatalogPlace[] {
  const late = places.find(({ path }) => lookAhead !== null && lookAhead.startedAt(path) !== null)?.kind;
  return [...places.filter(({ kind }) => kind !== late), ...places.filter(({ kind }) => kind === late)];
}

/** Records are carried over as they are, so equal ones are the same object. */
function isChanged(known: Records, records: Records): boolean {
  if (known.size !== records.size) return true;
  for (const [path, record] of records) if (known.get(path) !== record) return true;
  return false;
}
