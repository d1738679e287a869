import { findOwnProgram } from '../base/index.ts';
import type { Summary } from '../dialects/index.ts';
import { Answers } from './answers.ts';
import type { Ownership } from './ours.ts';
import { type Started, startProgram } from './program-output.ts';
import type { FolderRecord, SkillRecord, State } from './records.ts';

/** What the system says about a folder or file, as far as a scan asks. */
export type Look = State & Ownership & { dev: number };

/**
 * A folder that holds a plain skill and nothing else that a scan would ask about. There may be tens of thousands of them, so
 * no more is said than the scan needs. To look at it again is as fast as to remember it, so nobody does.
 */
export type PlainSkill = {
  kind: 'plain';
  dev: number;
  ino: number;
  files: readonly string[];
  summary: Summary;
  /** Nobody else can write to the folder or its SKILL.md. */
  ours: boolean;
};

/** What is known about another folder before the scan gets there. */
export type Ahead = {
  kind: 'folder';
  stats: Look;
  record: FolderRecord;
  /** Its SKILL.md, where that is plain enough to be read by its head alone; `ours`: nobody else can write it. */
  skill: { record: SkillRecord; ours: boolean } | null;
};

/** Says what was found in the folders of a directory; they are asked for in their order. */
export type AheadReader = {
  /** What is said of a plain skill holds until the next is asked for. */
  next(name: string): PlainSkill | Ahead | null;
  close(): void;
};

export type LookAhead = {
  /** What was in this directory when the look into it began, where that was before anybody opened it; otherwise null. */
  list(directory: string, maxMs: number): FolderRecord | null;
  /** Looks into a directory with so many folders. */
  open(directory: string, folders: number, maxMs: number): AheadReader;
  /** When the look into this directory began, where that was before anybody opened it; otherwise null. */
  startedAt(directory: string): number | null;
};

/** To start a program for fewer than this takes longer than looking. */
export const MIN_FOLDERS = 1000;
const NOTHING: AheadReader = { next: () => null, close: () => {} };

/**
 * With the program beside our own code (helper/skillbox-scan.c), which asks the system the same things in half the time, and
 * while this process does something else. It only saves time: without it, or where it has no answer, the scan looks itself.
 */
export class ProgramLookAhead implements LookAhead {
  readonly #program: string;
  readonly #minFolders: number;
  #early: { directory: string; at: number; started: Started; answers: Answers | null } | null = null;

  constructor(program: string, minFolders = MIN_FOLDERS) {
    this.#program = program;
    this.#minFolders = minFolders;
  }

  /** Before it is known whether anybody will ask: one directory, once. */
  start(directory: string): void {
    const at = Date.now();
    const started = startProgram(this.#program, directory);
    if (started !== null) this.#early = { directory, at, started, answers: null };
  }

  startedAt(directory: string): number | null {
    return this.#early?.directory === directory ? this.#early.at : null;
  }

  list(directory: string, maxMs: number): FolderRecord | null {
    if (this.#early?.directory !== directory) return null;
    this.#early.answers ??= new Answers(this.#early.started, Date.now() + maxMs);
    return this.#early.answers.list();
  }

  open(directory: string, folders: number, maxMs: number): AheadReader {
    if (folders < this.#minFolders || maxMs < 1) return NOTHING;
    const early = this.#takeEarly(directory);
    if (early?.answers) return early.answers;
    const started = early?.started ?? startProgram(this.#program, directory);
    return started === null ? NOTHING : new Answers(started, Date.now() + maxMs);
  }

  /** What was started in vain ends here. */
  close(): void {
    this.#early?.started.close();
    this.#early = null;
  }

  #takeEarly(directory: string): { started: Started; answers: Answers | null } | null {
    if (this.#early?.directory !== directory) return null;
    const early = this.#early;
    this.#early = null;
    return early;
  }
}

/** Null where there is no such program. */
export function programLookAhead(): ProgramLookAhead | null {
  const program = process.platform === 'linux' ? findOwnProgram('skillbox-scan') : null;
  return program === null ? null : new ProgramLookAhead(program);
}
