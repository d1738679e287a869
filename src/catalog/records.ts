import type { Summary, SummaryFault } from '../dialects/index.ts';

/** What tells one state of a file or directory from the next. */
export type State = { ino: number; size: number; mtimeMs: number; ctimeMs: number };

/** What a scan learned about a directory, so that the next one need not list it. */
export type FolderRecord = {
  state: State;
  /** Directories to enter, links that may lead to some, and the files that decide what the folder is; each sorted. */
  folders: readonly string[];
  links: readonly string[];
  files: readonly string[];
  skill: SkillRecord | null;
};

export type SkillRecord = {
  /** The states of the markers, in their order. */
  states: readonly State[];
  /** The reading depended on which files are in scripts/: its state then; null where there was none. */
  scripts: State | null;
  /** Whether it depended on them at all. */
  deep: boolean;
  summary: Summary;
};

export type SkillReading = { summary: Summary } | { fault: SummaryFault };

/** By the path of the directory. */
export type Records = Map<string, FolderRecord>;

/** What nearly every folder of a skill has: no names of a kind, and of the files that matter only this one. */
export const NONE: readonly string[] = Object.freeze([]);
export const USUAL_FILES: readonly string[] = Object.freeze(['SKILL.md']);

export function stateOf({ ino, size, mtimeMs, ctimeMs }: State): State {
  return { ino, size, mtimeMs, ctimeMs };
}

export function isSame(a: State, b: State): boolean {
  return a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.ino === b.ino && a.size === b.size;
}

/** A clock tick of every kernel lies well below this; file systems with whole seconds (FAT: two) need more. */
const FINE_MS = 100;
const COARSE_MS = 2000;

/**
 * Whether a state can stand for the content that was read after `start`. A file that was written in the same tick in which
 * it was read may be written once more without any sign of it; git calls that racy. Times in the future are never settled.
 */
export function isSettled({ mtimeMs, ctimeMs }: State, start: number): boolean {
  const latest = Math.max(mtimeMs, ctimeMs);
  const tick = mtimeMs % 1000 === 0 || ctimeMs % 1000 === 0 ? COARSE_MS : FINE_MS;
  return latest + tick < start;
}

export function isAllSettled({ states, scripts }: SkillRecord, start: number): boolean {
  return states.every(state => isSettled(state, start)) && (scripts === null || isSettled(scripts, start));
}
