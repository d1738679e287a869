import { Buffer } from 'node:buffer';
import { plainHeadSummary, type Summary } from '../dialects/index.ts';
import { FolderListing, holdsOnlySkill } from './list-folder.ts';
import type { Ahead, AheadReader, Look, PlainSkill } from './look-ahead.ts';
import { isOursBy } from './ours.ts';
import type { Started } from './program-output.ts';
import { type FolderRecord, NONE, type State, USUAL_FILES } from './records.ts';

// As in helper/skillbox-scan.c.
const [LISTED, PLAIN, BLOCK_END, NAMES, NAMES_END] = [1, 2, 3, 4, 5];
const [KIND, REST_BYTES, REST_IS_ASCII] = [0, 1, 2];
const [FOLDER_NAME_BYTES, NAMES_BYTES, NAME_BYTES, DESCRIPTION_BYTES] = [3, 4, 5, 6];
const [DEVICE, FOLDER, SKILL, NUMBERS] = [7, 8, 14, 20];
const [UID, MODE] = [4, 5];
const [DIRECTORY, LINK] = [0x64, 0x6c];
const SIZE = Float64Array.BYTES_PER_ELEMENT;
const HEAD_BYTES = NUMBERS * SIZE;
/** A kind, a length and SKILL.md: of a folder with a plain skill it is the whole listing. */
const USUAL_NAMES_BYTES = 10;
/** More than the longest answer has, and than most blocks. */
const BUFFER_BYTES = 128 * 1024;
const MAX_LISTINGS = 256;

/** `only`: there is nothing to ask about but SKILL.md. */
type Listing = Pick<FolderRecord, 'folders' | 'links' | 'files'> & { only: boolean };
const USUAL: Listing = { folders: NONE, links: NONE, files: USUAL_FILES, only: true };

/** The program's answers, read where they lie while it still runs: there are tens of thousands of them. */
export class Answers implements AheadReader {
  readonly #source: Started;
  readonly #deadline: number;
  readonly #numbers = new Float64Array(BUFFER_BYTES / SIZE);
  readonly #bytes = Buffer.from(this.#numbers.buffer);
  /** The same, a character for each byte: to take a part of it is many times faster than to decode one. */
  #text = '';
  /** One for all that are told: there may be tens of thousands, and each is asked about once. */
  readonly #plain: PlainSkill = {
    kind: 'plain',
    dev: 0,
    ino: 0,
    files: NONE,
    summary: plainHeadSummary('', ''),
    ours: false,
  };
  /** Listings by their bytes: most folders hold one of a few. */
  readonly #listings = new Map<string, Listing>();
  /** How much of each file was read; what follows a block there belongs to the block after the next. */
  readonly #offsets: [number, number] = [0, 0];
  #file: 0 | 1 = 0;
  #at = 0;
  #end = 0;
  #over = false;

  constructor(source: Started, deadline: number) {
    this.#source = source;
    this.#deadline = deadline;
  }

  /** What is in the directory itself, where the program says it: before anything else, so this is asked first or never. */
  list(): FolderRecord | null {
    const listing = new FolderListing();
    while (this.#hasAnswer()) {
      const start = this.#at;
      const kind = this.#number(start, KIND);
      if (kind !== NAMES && kind !== NAMES_END) return null;
      this.#at = start + HEAD_BYTES + this.#number(start, REST_BYTES);
      if (kind === NAMES_END) return { state: this.#state(start, FOLDER), ...listing.toListing(), skill: null };
      const from = start + HEAD_BYTES;
      this.#addNames(listing, start, from, from + this.#number(start, NAMES_BYTES));
    }
    return null;
  }

  next(name: string): PlainSkill | Ahead | null {
    while (this.#hasAnswer()) {
      const start = this.#at;
      const order = this.#compare(start, name);
      // That folder comes later; of the one that was asked for there is nothing.
      if (order > 0) return null;
      this.#at = start + HEAD_BYTES + this.#number(start, REST_BYTES);
      if (order === 0) return this.#answer(start, name);
    }
    return null;
  }

  close(): void {
    this.#over = true;
    this.#at = this.#end;
    this.#source.close();
  }

  /** Whether a whole answer lies at the current place. */
  #hasAnswer(): boolean {
    const numbers = this.#numbers;
    for (;;) {
      const there = this.#end - this.#at;
      if (there >= HEAD_BYTES) {
        const from = this.#at / SIZE;
        const rest = numbers[from + REST_BYTES] ?? -1;
        if (!(rest >= 0 && rest % SIZE === 0 && HEAD_BYTES + rest <= BUFFER_BYTES)) return this.#giveUp();
        if (numbers[from + KIND] === BLOCK_END) this.#turn();
        else if (there >= HEAD_BYTES + rest) return true;
      }
      if (this.#over || !this.#readMore()) return this.#giveUp();
    }
  }

  /** The next block is in the other file. */
  #turn(): void {
    this.#offsets[this.#file] -= this.#end - this.#at - HEAD_BYTES;
    this.#file = this.#file === 0 ? 1 : 0;
    this.#at = 0;
    this.#end = 0;
  }

  #giveUp(): false {
    if (!this.#over) this.close();
    return false;
  }

  #readMore(): boolean {
    this.#bytes.copyWithin(0, this.#at, this.#end);
    this.#end -= this.#at;
    this.#at = 0;
    const free = this.#bytes.subarray(this.#end);
    const length = this.#source.read(this.#file, this.#offsets[this.#file], free, this.#deadline);
    this.#offsets[this.#file] += length;
    this.#end += length;
    this.#text = this.#bytes.toString('latin1', 0, this.#end);
    return length > 0;
  }

  /** Of the answer that starts there. */
  #string(start: number, from: number, to: number): string {
    return this.#number(start, REST_IS_ASCII) === 1
      ? this.#text.substring(from, to)
      : this.#bytes.toString('utf8', from, to);
  }

  #number(start: number, index: number): number {
    return this.#numbers[start / SIZE + index] ?? Number.NaN;
  }

  /** Below zero when this answer's folder comes before that name in the order of their bytes. */
  #compare(start: number, name: string): number {
    const from = start + HEAD_BYTES;
    const to = from + this.#number(start, FOLDER_NAME_BYTES);
    const isAscii = this.#number(start, REST_IS_ASCII) === 1;
    if (isAscii && to - from === name.length && this.#text.startsWith(name, from)) return 0;
    const wanted = Buffer.from(name);
    return this.#bytes.compare(wanted, 0, wanted.length, from, to);
  }

  #answer(start: number, folder: string): PlainSkill | Ahead | null {
    const kind = this.#number(start, KIND);
    if (kind !== LISTED && kind !== PLAIN) return null;
    const namesAt = start + HEAD_BYTES + this.#number(start, FOLDER_NAME_BYTES);
    const namesEnd = namesAt + this.#number(start, NAMES_BYTES);
    const usual = kind === PLAIN && namesEnd - namesAt === USUAL_NAMES_BYTES;
    const { folders, links, files, only } = usual ? USUAL : this.#listing(start, namesAt, namesEnd);
    if (kind === PLAIN && only) return this.#tellPlain(start, files, namesEnd, folder);
    const state = this.#state(start, FOLDER);
    const record = { state, folders, links, files, skill: null };
    const stats = this.#look(start, state);
    if (kind === LISTED) return { kind: 'folder', stats, record, skill: null };
    const states = [this.#state(start, SKILL)];
    const summary = this.#fill(plainHeadSummary('', ''), start, namesEnd, folder);
    const skill = { record: { states, deep: false, scripts: null, summary }, ours: this.#isOurs(start, SKILL) };
    return { kind: 'folder', stats, record, skill };
  }

  #tellPlain(start: number, files: readonly string[], namesEnd: number, folder: string): PlainSkill {
    const plain = this.#plain;
    plain.dev = this.#number(start, DEVICE);
    plain.ino = this.#number(start, FOLDER);
    plain.files = files;
    this.#fill(plain.summary, start, namesEnd, folder);
    plain.ours = this.#isOurs(start, FOLDER) && this.#isOurs(start, SKILL);
    return plain;
  }

  #isOurs(start: number, part: number): boolean {
    const from = start / SIZE + part;
    return isOursBy(this.#numbers[from + UID] ?? -1, this.#numbers[from + MODE] ?? 0o777);
  }

  /** The name, which is left out where it is the folder's, and the description. */
  #fill(summary: Summary, start: number, at: number, folder: string): Summary {
    const nameEnd = at + this.#number(start, NAME_BYTES);
    summary.name = nameEnd === at ? folder : this.#string(start, at, nameEnd);
    summary.description = this.#string(start, nameEnd, nameEnd + this.#number(start, DESCRIPTION_BYTES));
    return summary;
  }

  #look(start: number, { ino, size, mtimeMs, ctimeMs }: State): Look {
    const [numbers, from] = [this.#numbers, start / SIZE];
    return {
      ino,
      size,
      mtimeMs,
      ctimeMs,
      uid: numbers[from + FOLDER + UID] ?? -1,
      mode: numbers[from + FOLDER + MODE] ?? 0,
      dev: numbers[from + DEVICE] ?? Number.NaN,
    };
  }

  #state(start: number, part: number): State {
    const [numbers, from] = [this.#numbers, start / SIZE + part];
    return {
      ino: numbers[from] ?? Number.NaN,
      size: numbers[from + 1] ?? Number.NaN,
      mtimeMs: numbers[from + 2] ?? Number.NaN,
      ctimeMs: numbers[from + 3] ?? Number.NaN,
    };
  }

  #listing(start: number, from: number, end: number): Listing {
    const key = this.#text.substring(from, end);
    const known = this.#listings.get(key);
    if (known !== undefined) return known;
    const listing = new FolderListing();
    this.#addNames(listing, start, from, end);
    const names = listing.toListing();
    const read = { ...names, only: holdsOnlySkill(names) };
    if (this.#listings.size < MAX_LISTINGS) this.#listings.set(key, read);
    return read;
  }

  #addNames(listing: FolderListing, start: number, from: number, end: number): void {
    const bytes = this.#bytes;
    for (let at = from; at < end; ) {
      const type = bytes[at];
      const nameAt = at + 2;
      at = nameAt + (bytes[at + 1] ?? 0);
      listing.add(this.#string(start, nameAt, at), type === DIRECTORY, type === LINK);
    }
  }
}
