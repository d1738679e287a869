import type { Summary } from '../dialects/index.ts';
import type { Offer } from '../skill/index.ts';
import { type FolderRecord, NONE, type Records, type SkillRecord, type State, USUAL_FILES } from './records.ts';

/**
 * Records by columns: numbers stand together, where they cost eight bytes each, and nothing is built twice when they are read
 * back. 0 stands for the usual: no names, the file SKILL.md, no skill, the offer that a skill without a word has.
 */
type Names = readonly string[] | 0;
type Columns = {
  paths: string[];
  /** Four numbers each. */
  states: number[];
  folders: Names[];
  links: Names[];
  files: Names[];
  /** How many files a skill was read from; 0: no skill. */
  marks: number[];
  /** Their states, and after them that of scripts/ where it matters and exists. */
  markStates: number[];
  /** 0: does not matter; 1: there was none; 2: its state follows. */
  scripts: number[];
  dialects: string[];
  names: string[];
  descriptions: string[];
  offers: (Offer | 0)[];
};

const USUAL_OFFER: Offer = { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true };
const USUAL_OFFER_TEXT = JSON.stringify(USUAL_OFFER);

export function encodeRecords(root: string, records: Records): string {
  const columns: Columns = {
    paths: [],
    states: [],
    folders: [],
    links: [],
    files: [],
    marks: [],
    markStates: [],
    scripts: [],
    dialects: [],
    names: [],
    descriptions: [],
    offers: [],
  };
  for (const [path, record] of records) {
    columns.paths.push(path.slice(root.length));
    pushState(columns.states, record.state);
    columns.folders.push(record.folders.length === 0 ? 0 : record.folders);
    columns.links.push(record.links.length === 0 ? 0 : record.links);
    columns.files.push(record.files.length === 1 && record.files[0] === 'SKILL.md' ? 0 : record.files);
    columns.marks.push(record.skill?.states.length ?? 0);
    if (record.skill !== null) pushSkill(columns, record.skill);
  }
  return JSON.stringify(columns);
}

export function decodeRecords(root: string, text: string): Records {
  const columns = JSON.parse(text) as Columns;
  const states = new Cursor(columns.states);
  const skills = new SkillColumns(columns);
  const records: Records = new Map();
  columns.paths.forEach((path, index) => {
    const marks = columns.marks[index] ?? 0;
    const record: FolderRecord = {
      state: states.next(),
      folders: columns.folders[index] || NONE,
      links: columns.links[index] || NONE,
      files: columns.files[index] || USUAL_FILES,
      skill: marks === 0 ? null : skills.next(marks),
    };
    records.set(root + path, record);
  });
  return records;
}

function pushState(to: number[], { ino, size, mtimeMs, ctimeMs }: State): void {
  to.push(ino, size, mtimeMs, ctimeMs);
}

function pushSkill(columns: Columns, { states, deep, scripts, summary }: SkillRecord): void {
  for (const state of states) pushState(columns.markStates, state);
  columns.scripts.push(deep ? (scripts === null ? 1 : 2) : 0);
  if (deep && scripts !== null) pushState(columns.markStates, scripts);
  columns.dialects.push(summary.dialect);
  columns.names.push(summary.name);
  columns.descriptions.push(summary.description);
  columns.offers.push(JSON.stringify(summary.offer) === USUAL_OFFER_TEXT ? 0 : summary.offer);
}

class Cursor {
  readonly #numbers: readonly number[];
  #at = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  next(): State {
    const [at, numbers] = [this.#at, this.#numbers];
    this.#at += 4;
    // A number that is missing is none that a file could have: the record is then of no use, and nothing worse.
    return {
      ino: numbers[at] ?? Number.NaN,
      size: numbers[at + 1] ?? Number.NaN,
      mtimeMs: numbers[at + 2] ?? Number.NaN,
      ctimeMs: numbers[at + 3] ?? Number.NaN,
    };
  }
}

class SkillColumns {
  readonly #columns: Columns;
  readonly #states: Cursor;
  #at = 0;

  constructor(columns: Columns) {
    this.#columns = columns;
    this.#states = new Cursor(columns.markStates);
  }

  next(marks: number): SkillRecord {
    const { scripts, dialects, names, descriptions, offers } = this.#columns;
    const at = this.#at++;
    const states = Array.from({ length: marks }, () => this.#states.next());
    return {
      states,
      deep: scripts[at] !== 0,
      scripts: scripts[at] === 2 ? this.#states.next() : null,
      summary: {
        dialect: dialects[at] as Summary['dialect'],
        name: names[at] ?? '',
        description: descriptions[at] ?? '',
        offer: offers[at] || USUAL_OFFER,
      },
    };
  }
}
