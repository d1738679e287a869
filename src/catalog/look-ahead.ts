import { findOwnProgram } from '../base/index.ts';
import { plainSummary, type Summary } from '../dialects/index.ts';
import { FolderListing } from './list-folder.ts';
import type { Ownership } from './ours.ts';
import { type FolderRecord, NONE, type State, USUAL_FILES } from './records.ts';

/** What the system says about a folder or file, as far as a scan asks. */
export type Look = State & Ownership & { dev: number };

/** What is known about a folder before the scan gets there. */
export type Ahead = {
  stats: Look;
  record: FolderRecord;
  /** Its SKILL.md, where that is plain enough to be read by its head alone. */
  skill: { stats: Look; summary: Summary } | null;
};

/** Looks at the folders of these names in a directory; what it gives says, for one after the other, what was found. */
export type LookAhead = (directory: string, names: readonly string[], maxMs: number) => AheadReader;
export type AheadReader = { next(): Ahead | null };

/** To start a program for fewer than this takes longer than looking. */
const MIN_FOLDERS = 1000;
/** So many at a time: an answer is held whole. */
const BATCH = 4000;
const MAX_ANSWER_BYTES = 128 * 1024 ** 2;
const NOTHING: AheadReader = { next: () => null };

/**
 * With the program beside our own code (helper/skillbox-scan.c), which asks the system the same things in half the time and on
 * two processors. It only saves time: without it, or where it has no answer, the scan looks itself.
 */
export function lookAheadWith(program: string, minFolders = MIN_FOLDERS, batch = BATCH): LookAhead {
  return (directory, names, maxMs) => {
    if (names.length < minFolders) return NOTHING;
    const end = Date.now() + maxMs;
    let at = 0;
    let answer: AheadReader = NOTHING;
    return {
      next() {
        if (at % batch === 0) answer = ask(program, directory, names.slice(at, at + batch), end - Date.now());
        at++;
        return answer.next();
      },
    };
  };
}

export function defaultLookAhead(): LookAhead | null {
  const program = process.platform === 'linux' ? findOwnProgram('skillbox-scan') : null;
  return program === null ? null : lookAheadWith(program);
}

function ask(program: string, directory: string, names: readonly string[], maxMs: number): AheadReader {
  if (maxMs < 1) return NOTHING;
  // Loaded now: most scans are small.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, stdout } = spawnSync(program, [], {
    cwd: directory,
    env: {},
    input: `${names.join('\0')}\0`,
    stdio: ['pipe', 'pipe', 'ignore'],
    maxBuffer: MAX_ANSWER_BYTES,
    timeout: Math.ceil(maxMs),
    killSignal: 'SIGKILL',
  });
  return status === 0 ? new Answer(stdout) : NOTHING;
}

// As in helper/skillbox-scan.c.
const [LISTED, HEADED] = [1, 2];
const [KIND, REST_BYTES, NAMES_BYTES, HEAD_LENGTH, DEVICE, FOLDER, SKILL, NUMBERS] = [0, 1, 2, 3, 4, 5, 11, 17];
const [DIRECTORY, LINK] = [0x64, 0x6c];
const SIZE = Float64Array.BYTES_PER_ELEMENT;
const ONLY_SKILL_MD = Buffer.from('f\x08SKILL.md');

/** The program's answer, read where it lies: there are tens of thousands of these. */
class Answer implements AheadReader {
  readonly #bytes: Buffer;
  readonly #numbers: Float64Array;
  /** In numbers. */
  #at = 0;

  constructor(answer: Buffer) {
    // Numbers can be read in place only where their array may start.
    this.#bytes = answer.byteOffset % SIZE === 0 ? answer : Buffer.from(new Uint8Array(answer).buffer);
    const { buffer, byteOffset, length } = this.#bytes;
    this.#numbers = new Float64Array(buffer, byteOffset, Math.floor(length / SIZE));
  }

  next(): Ahead | null {
    const [at, numbers] = [this.#at, this.#numbers];
    const kind = numbers[at + KIND];
    if (at + NUMBERS > numbers.length) return null;
    this.#at = at + NUMBERS + (numbers[at + REST_BYTES] ?? 0) / SIZE;
    if (kind !== LISTED && kind !== HEADED) return null;
    const namesAt = (at + NUMBERS) * SIZE;
    const headAt = namesAt + (numbers[at + NAMES_BYTES] ?? 0);
    const stats = this.#look(at, FOLDER);
    const record = this.#record(stats, namesAt, headAt);
    if (kind === LISTED) return { stats, record, skill: null };
    const summary = plainSummary(this.#bytes.subarray(headAt, headAt + (numbers[at + HEAD_LENGTH] ?? 0)));
    return { stats, record, skill: summary === null ? null : { stats: this.#look(at, SKILL), summary } };
  }

  #look(at: number, part: number): Look {
    const [numbers, from] = [this.#numbers, at + part];
    return {
      ino: numbers[from] ?? Number.NaN,
      size: numbers[from + 1] ?? Number.NaN,
      mtimeMs: numbers[from + 2] ?? Number.NaN,
      ctimeMs: numbers[from + 3] ?? Number.NaN,
      uid: numbers[from + 4] ?? -1,
      mode: numbers[from + 5] ?? 0,
      dev: numbers[at + DEVICE] ?? Number.NaN,
    };
  }

  #record(state: State, from: number, end: number): FolderRecord {
    const bytes = this.#bytes;
    if (end - from === ONLY_SKILL_MD.length && bytes.compare(ONLY_SKILL_MD, 0, ONLY_SKILL_MD.length, from, end) === 0) {
      return { state, folders: NONE, links: NONE, files: USUAL_FILES, skill: null };
    }
    const listing = new FolderListing();
    for (let at = from; at < end; ) {
      const type = bytes[at];
      const nameAt = at + 2;
      at = nameAt + (bytes[at + 1] ?? 0);
      listing.add(bytes.toString('utf8', nameAt, at), type === DIRECTORY, type === LINK);
    }
    return listing.toRecord(state);
  }
}
