import type { Summary } from '../dialects/index.ts';
import type { Offer } from '../skill/index.ts';
import { type FolderRecord, NONE, type Records, type SkillRecord, type State, USUAL_FILES } from './records.ts';

/**
 * Records by columns: numbers stand together, as the eight bytes that they are in memory, and nothing is built twice when they
 * are read back. 0 stands for the usual: no names, the file SKILL.md, no skill, the offer that a skill without a word has.
 */
type Names = readonly string[] | 0;
type Columns = {
  paths: string[];
  folders: Names[];
  links: Names[];
  files: Names[];
  /** How many files a skill was read from; 0: no skill. */
  marks: number[];
  /** 0: does not matter; 1: there was none; 2: its state follows. */
  scripts: number[];
  dialects: string[];
  names: string[];
  descriptions: string[];
  offers: (Offer | 0)[];
};

const USUAL_OFFER: Offer = { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true };
const USUAL_OFFER_TEXT = JSON.stringify(USUAL_OFFER);
const NUMBERS_PER_STATE = 4;

/** How many bytes of numbers there are, the numbers, and the columns as JSON. */
export function encodeRecords(root: string, records: Records): Buffer[] {
  const columns: Columns = {
    paths: [],
    folders: [],
    links: [],
    files: [],
    marks: [],
    scripts: [],
    dialects: [],
    names: [],
    descriptions: [],
    offers: [],
  };
  const states = new StateWriter(records);
  for (const [path, record] of records) {
    columns.paths.push(path.slice(root.length));
    states.push(record.state);
    columns.folders.push(record.folders.length === 0 ? 0 : record.folders);
    columns.links.push(record.links.length === 0 ? 0 : record.links);
    columns.files.push(record.files.length === 1 && record.files[0] === 'SKILL.md' ? 0 : record.files);
    columns.marks.push(record.skill?.states.length ?? 0);
    if (record.skill !== null) pushSkill(columns, states, record.skill);
  }
  const numbers = states.bytes();
  const length = Buffer.alloc(4);
  length.writeUInt32LE(numbers.length);
  return [length, numbers, Buffer.from(JSON.stringify(columns))];
}

/** Throws for what is no such thing, which cannot be where the digest is right. */
export function decodeRecords(root: string, bytes: Buffer): Records {
  const end = 4 + bytes.readUInt32LE(0);
  const states = new StateReader(bytes.subarray(4, end));
  const columns = JSON.parse(bytes.toString('utf8', end)) as Columns;
  const skills = new SkillColumns(columns, states);
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

function pushSkill(columns: Columns, to: StateWriter, { states, deep, scripts, summary }: SkillRecord): void {
  for (const state of states) to.push(state);
  columns.scripts.push(deep ? (scripts === null ? 1 : 2) : 0);
  if (deep && scripts !== null) to.push(scripts);
  columns.dialects.push(summary.dialect);
  columns.names.push(summary.name);
  columns.descriptions.push(summary.description);
  columns.offers.push(isUsual(summary.offer) ? 0 : summary.offer);
}

let usual: Offer = USUAL_OFFER;

/** Nearly all skills share one offer, so the last that was found to be the usual is tried first. */
function isUsual(offer: Offer): boolean {
  if (offer === usual) return true;
  const same = JSON.stringify(offer) === USUAL_OFFER_TEXT;
  if (same) usual = offer;
  return same;
}

class StateWriter {
  readonly #numbers: Float64Array;
  #at = 0;

  constructor(records: Records) {
    let states = 0;
    for (const { skill } of records.values()) states += 1 + (skill === null ? 0 : skill.states.length + 1);
    this.#numbers = new Float64Array(states * NUMBERS_PER_STATE);
  }

  push({ ino, size, mtimeMs, ctimeMs }: State): void {
    const [at, numbers] = [this.#at, this.#numbers];
    numbers[at] = ino;
    numbers[at + 1] = size;
    numbers[at + 2] = mtimeMs;
    numbers[at + 3] = ctimeMs;
    this.#at = at + NUMBERS_PER_STATE;
  }

  bytes(): Buffer {
    const { buffer } = this.#numbers;
    return Buffer.from(buffer, 0, this.#at * this.#numbers.BYTES_PER_ELEMENT);
  }
}

class StateReader {
  readonly #numbers: Float64Array;
  #at = 0;

  constructor(bytes: Buffer) {
    // Copied to where an array of such numbers may start.
    this.#numbers = new Float64Array(Math.floor(bytes.length / Float64Array.BYTES_PER_ELEMENT));
    Buffer.from(this.#numbers.buffer).set(bytes.subarray(0, this.#numbers.byteLength));
  }

  next(): State {
    const at = this.#at;
    this.#at += NUMBERS_PER_STATE;
    return new KeptState(this.#numbers, at);
  }
}

/** A state that stays where it was read: nearly all are only compared, and four numbers of their own would be most of a record. */
class KeptState implements State {
  readonly #numbers: Float64Array;
  readonly #at: number;

  constructor(numbers: Float64Array, at: number) {
    this.#numbers = numbers;
    this.#at = at;
  }

  get ino(): number {
    return this.#read(0);
  }

  get size(): number {
    return this.#read(1);
  }

  get mtimeMs(): number {
    return this.#read(2);
  }

  get ctimeMs(): number {
    return this.#read(3);
  }

  /** A number that is missing is none that a file could have: the record is then of no use, and nothing worse. */
  #read(which: number): number {
    return this.#numbers[this.#at + which] ?? Number.NaN;
  }
}

class SkillColumns {
  readonly #columns: Columns;
  readonly #states: StateReader;
  #at = 0;

  constructor(columns: Columns, states: StateReader) {
    this.#columns = columns;
    this.#states = states;
  }

  next(marks: number): SkillRecord {
    const { scripts, dialects, names, descriptions, offers } = this.#columns;
    const at = this.#at++;
    const states = [this.#states.next()];
    while (states.length < marks) states.push(this.#states.next());
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
