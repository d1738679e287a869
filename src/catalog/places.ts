import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/**
 * Where skills are looked for, the strongest first: of two skills with one name, the one whose place stands earlier wins.
 * This order keeps both rules that formats have: project over user over bundled (AS-09), and configured directories over the
 * workspace over bundled (SK-12).
 */
export const PLACE_KINDS = ['named', 'configured', 'project', 'user', 'bundled'] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];

/** A directory that may hold skills; it need not exist. */
export type CatalogPlace = { kind: PlaceKind; path: string };

export type PlaceSettings = {
  cwd: string;
  /** Null for a user without one. */
  home: string | null;
  /** `--dir`, in the order given. */
  named: readonly string[];
  /** Directories of the settings. */
  configured: readonly string[];
  /** What ships with Skillbox. */
  bundled: readonly string[];
};

export const PROJECT_DIRECTORIES = ['.skillbox/skills', '.agents/skills', '.claude/skills', 'skills'] as const;
export const USER_DIRECTORIES = [
  '.skillbox/skills',
  '.agents/skills',
  '.claude/skills',
  '.config/gibberish/skills',
] as const;

export function placesFor({ cwd, home, named, configured, bundled }: PlaceSettings): CatalogPlace[] {
  const user = home === null ? [] : USER_DIRECTORIES.map(directory => join(home, directory));
  // A home under git is no project: what the user put into the own directories stays the user's.
  const project = projectFolders(cwd)
    .flatMap(folder => PROJECT_DIRECTORIES.map(directory => join(folder, directory)))
    .filter(path => !user.includes(path));
  const paths: [PlaceKind, readonly string[]][] = [
    ['named', named.map(path => resolve(cwd, path))],
    ['configured', configured],
    ['project', project],
    ['user', user],
    ['bundled', bundled],
  ];
  const seen = new Set<string>();
  return paths
    .flatMap(([kind, all]) => all.map(path => ({ kind, path })))
    .filter(({ path }) => !seen.has(path) && seen.add(path));
}

/** The working directory and those above it, up to the root of its repository; without one, the working directory alone. */
export function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.push(folder);
    if (exists(join(folder, '.git'))) return folders;
    // Above every repository lie directories of other people.
    if (dirname(folder) === folder) return folders.slice(0, 1);
  }
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // closed to us: nothing in it can be ours
  }
}
