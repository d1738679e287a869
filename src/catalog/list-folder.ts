import { type Dirent, opendirSync, readdirSync } from 'node:fs';
import { isEntrypointName } from '../dialects/index.ts';
import { IGNORE_FILE } from '../skill/index.ts';
import { MARKER, SKIPPED } from './markers.ts';
import { type FolderRecord, NONE, type State, stateOf, USUAL_FILES } from './records.ts';

/** A directory file above this size may list millions of names; they are then read one by one, up to a limit. */
const LARGE_DIRECTORY_BYTES = 8 * 1024 ** 2;
const MAX_NAMES = 100_000;
const TYPED = { withFileTypes: true } as const;

/** Lists a directory: what discovery may have to follow or to read. Throws what the system says. */
export function listFolder(path: string, stats: State): { record: FolderRecord; whole: boolean } {
  const { dirents, whole } = listDirents(path, stats.size);
  const listing = new FolderListing();
  for (const dirent of dirents) listing.add(dirent.name, dirent.isDirectory(), dirent.isSymbolicLink());
  return { record: { state: stateOf(stats), ...listing.toListing(), skill: null }, whole };
}

/** The names in a directory, as far as discovery needs them. */
export class FolderListing {
  readonly #folders: string[] = [];
  readonly #links: string[] = [];
  readonly #files: string[] = [];

  add(name: string, isDirectory: boolean, isLink: boolean): void {
    if (isDirectory) {
      if (!SKIPPED.has(name)) this.#folders.push(name);
      return;
    }
    if (isNotable(name)) this.#files.push(name);
    // A linked SKILL.md is a link for those who ask whether the folder has any.
    if (isLink) this.#links.push(name);
  }

  toListing(): Pick<FolderRecord, 'folders' | 'links' | 'files'> {
    return { folders: sorted(this.#folders), links: sorted(this.#links), files: usual(this.#files) };
  }
}

/** By every format's word these hold a skill's own files. */
export const RESOURCE_FOLDERS: ReadonlySet<string> = new Set(['scripts', 'references', 'assets', 'examples']);

/** A skill by its SKILL.md alone: nothing beside it says otherwise, and no other skill can be inside. */
export function holdsOnlySkill({ folders, links, files }: Pick<FolderRecord, 'folders' | 'links' | 'files'>): boolean {
  return (
    links.length === 0 &&
    files.includes('SKILL.md') &&
    files.every(name => name === 'SKILL.md' || (!isMarker(name) && name !== IGNORE_FILE)) &&
    folders.every(name => RESOURCE_FOLDERS.has(name))
  );
}

export function isMarker(name: string): boolean {
  return name === 'SKILL.md' || MARKER.test(name);
}

function isNotable(name: string): boolean {
  return isMarker(name) || name === IGNORE_FILE || isEntrypointName(name);
}

function sorted(names: string[]): readonly string[] {
  if (names.length === 0) return NONE;
  return names.length === 1 ? names : names.sort();
}

/** Shared where it is the usual: there may be tens of thousands of them. */
function usual(files: string[]): readonly string[] {
  return files.length === 1 && files[0] === 'SKILL.md' ? USUAL_FILES : sorted(files);
}

function listDirents(path: string, size: number): { dirents: Dirent[]; whole: boolean } {
  if (size <= LARGE_DIRECTORY_BYTES) return { dirents: readdirSync(path, TYPED), whole: true };
  const directory = opendirSync(path);
  try {
    const dirents: Dirent[] = [];
    for (let next = directory.readSync(); next !== null; next = directory.readSync()) {
      if (dirents.length >= MAX_NAMES) return { dirents, whole: false };
      dirents.push(next);
    }
    return { dirents, whole: true };
  } finally {
    directory.closeSync();
  }
}
