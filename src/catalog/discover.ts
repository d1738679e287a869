import { basename } from 'node:path';
import type { Summary, SummaryFault } from '../dialects/index.ts';
import { cleanLine } from './clean.ts';
import { type IndexCache, NO_CACHE } from './index-cache.ts';
import { isMarker } from './list-folder.ts';
import { type LookAhead, programLookAhead } from './look-ahead.ts';
import { type CatalogPlace, PLACE_KINDS } from './places.ts';
import type { Records } from './records.ts';
import { type FoundSkill, Seen, WALK_LIMITS, Walk, type WalkLimits, type WalkProblem } from './walk.ts';

/** A skill that was found and loads. Name and description hold nothing that a reader would not see. */
export type CatalogSkill = Summary & {
  place: CatalogPlace;
  /** The folder as it was reached, and where it really lies. */
  folder: string;
  realFolder: string;
  /** AS-13: the absolute path of SKILL.md, or of the manifest where there is none. */
  location: string;
  /** Skills inside this skill, by path: reported, never offered. */
  nested: readonly string[];
  /** Nobody but this account can write to the folder itself. */
  ours: boolean;
};

/** A skill that was found and does not load: kept to be shown to people, never to a model. */
export type BrokenSkill = {
  name: string;
  place: CatalogPlace;
  folder: string;
  realFolder: string;
  fault: SummaryFault;
};

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
  const discovery = {
    places,
    skills: [] as CatalogSkill[],
    broken: [] as BrokenSkill[],
    problems: [] as WalkProblem[],
  };
  for (const place of places) {
    const known = cache.load(place.path);
    // What was found out earlier is as old as that.
    const start = Math.min(now(), lookAhead?.startedAt(place.path) ?? Infinity);
    const context = { known, seen: seen.get(place.kind) ?? new Seen(), limits, start, now, folders, lookAhead };
    const { skills, records, problems } = new Walk(context).run(place.path);
    if (isChanged(known, records)) cache.save(place.path, records);
    discovery.problems.push(...problems);
    for (const found of skills) addSkill(found, place, discovery);
  }
  return discovery;
}

function addSkill(found: FoundSkill, place: CatalogPlace, to: { skills: CatalogSkill[]; broken: BrokenSkill[] }): void {
  const { path: folder, realPath: realFolder, read, nested, files, ours } = found;
  if ('fault' in read) {
    to.broken.push({ name: cleanLine(basename(folder)), place, folder, realFolder, fault: read.fault });
    return;
  }
  const { summary } = read;
  const document = files.includes('SKILL.md') ? 'SKILL.md' : (files.find(isMarker) ?? 'SKILL.md');
  to.skills.push({
    dialect: summary.dialect,
    name: cleanLine(summary.name),
    description: cleanLine(summary.description),
    offer: summary.offer,
    place,
    folder,
    realFolder,
    location: `${folder}/${document}`,
    nested,
    ours,
  });
}

/** Records are carried over as they are, so equal ones are the same object. */
function isChanged(known: Records, records: Records): boolean {
  if (known.size !== records.size) return true;
  for (const [path, record] of records) if (known.get(path) !== record) return true;
  return false;
}
