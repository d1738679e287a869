/** Below this a window has no pair of bytes to go by. */
const PAIR = 2;
const MAX_SHIFT = 255;

/**
 * Finds several words in bytes in one pass (after Wu and Manber). A window as long as the shortest word moves over the bytes;
 * its last two say how far it may jump. Keys are long and two bytes of an answer are rarely a part of one in any spelling, so
 * most of the bytes are never looked at.
 */
export class Search {
  readonly #words: readonly Buffer[];
  /** Of a single byte: looked for by themselves. */
  readonly #single: readonly Buffer[];
  readonly #window: number;
  readonly #longest: number;
  /** By the pair of bytes at the end of the window; 0: a word may begin where the window does. */
  readonly #shifts: Uint8Array;
  /** By byte, and by pair of bytes: whether a word begins so. */
  readonly #firsts = new Uint8Array(2 ** 8);
  readonly #firstPairs = new Uint8Array(2 ** 16);

  constructor(words: readonly Buffer[]) {
    this.#words = words.filter(({ length }) => length >= PAIR);
    this.#single = words.filter(({ length }) => length === 1);
    this.#window = this.#words.reduce((least, { length }) => Math.min(least, length), Infinity);
    this.#longest = words.reduce((most, { length }) => Math.max(most, length), 0);
    const farthest = this.#words.length === 0 ? 0 : Math.min(this.#window - 1, MAX_SHIFT);
    this.#shifts = new Uint8Array(2 ** 16).fill(farthest);
    for (const word of this.#words) {
      this.#firsts[word[0] ?? 0] = 1;
      this.#firstPairs[pairAt(word, 1)] = 1;
      for (let at = 1; at < this.#window; at++) {
        const pair = pairAt(word, at);
        this.#shifts[pair] = Math.min(this.#shifts[pair] ?? 0, this.#window - 1 - at);
      }
    }
  }

  /** Every place of every word, those that overlap too: where it begins and where it has ended, one after the other. */
  places(bytes: Buffer): number[] {
    const found: number[] = [];
    const [shifts, last] = [this.#shifts, this.#window - 1];
    for (let at = last; at < bytes.length; ) {
      const shift = shifts[pairAt(bytes, at)] ?? 0;
      if (shift === 0) this.#match(bytes, at - last, found);
      at += shift || 1;
    }
    for (const word of this.#single)
      for (let at = bytes.indexOf(word); at !== -1; at = bytes.indexOf(word, at + 1)) found.push(at, at + 1);
    return found;
  }

  /** How many bytes at the end may be the beginning of a word that what follows completes. */
  pending(bytes: Buffer): number {
    if (bytes.length === 0) return 0;
    const last = bytes.length - 1;
    for (let at = Math.max(0, bytes.length - this.#longest + 1); at < last; at++) {
      if (this.#firstPairs[pairAt(bytes, at + 1)] === 1 && this.#begins(bytes, at)) return bytes.length - at;
    }
    return this.#firsts[bytes[last] ?? 0] ?? 0;
  }

  #match(bytes: Buffer, start: number, found: number[]): void {
    const first = bytes[start];
    for (const word of this.#words) {
      const end = start + word.length;
      if (word[0] === first && end <= bytes.length && bytes.compare(word, 0, word.length, start, end) === 0)
        found.push(start, end);
    }
  }

  #begins(bytes: Buffer, start: number): boolean {
    const there = bytes.length - start;
    return this.#words.some(word => word.length > there && bytes.compare(word, 0, there, start) === 0);
  }
}

/** The byte at this place with the one before it. */
function pairAt(bytes: Buffer, at: number): number {
  return ((bytes[at - 1] ?? 0) << 8) | (bytes[at] ?? 0);
}
