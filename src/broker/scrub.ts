import { encodingsOf, headerEncodingsOf } from '../base/index.ts';
import { Search } from './search.ts';

const BLANK = '*'.charCodeAt(0);

/**
 * Takes values out of what a host answers: a host that echoes a request must not hand the key to the run. Each byte becomes
 * a `*`, so that the length which the host announced stays true.
 */
export class Scrubber {
  readonly isEmpty: boolean;
  readonly #search: Search;

  constructor(values: readonly string[]) {
    const forms = values
      .flatMap(value => [...encodingsOf(value), ...headerEncodingsOf(value)])
      .filter(({ length }) => length > 0);
    this.isEmpty = forms.length === 0;
    this.#search = new Search(forms);
  }

  text(value: string): string {
    const bytes = Buffer.from(value, 'latin1');
    this.blank(bytes);
    return bytes.toString('latin1');
  }

  finds(value: string): boolean {
    return this.#search.places(Buffer.from(value, 'latin1')).length > 0;
  }

  /** In place. Where the farthest of the values ends that begin before this place. */
  blank(bytes: Buffer, before = bytes.length): number {
    const places = this.#search.places(bytes);
    let farthest = 0;
    for (let at = 0; at < places.length; at += 2) {
      const [start = 0, end = 0] = [places[at], places[at + 1]];
      bytes.fill(BLANK, start, end);
      if (start < before) farthest = Math.max(farthest, end);
    }
    return farthest;
  }

  /** How many bytes at the end may be the beginning of a value that the next chunk completes. */
  pending(bytes: Buffer): number {
    return this.#search.pending(bytes);
  }

  /** For one answer. */
  cleaner(): Cleaner {
    return new Cleaner(this);
  }
}

/** Holds back nothing but a possible beginning of a value, so that events arrive when they are sent. */
export class Cleaner {
  readonly #scrubber: Scrubber;
  /** As it came. Threat: of a value that begins with another one, or inside it, only the rest would be left to be found. */
  #held: Buffer = Buffer.alloc(0);
  /** So many bytes at the beginning of what is held are the end of a value. */
  #hidden = 0;

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  /** Takes the chunk over: what a socket read belongs to this answer alone, and is changed in place. */
  push(chunk: Buffer): Buffer {
    if (this.#scrubber.isEmpty) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const end = bytes.length - this.#scrubber.pending(bytes);
    this.#held = Buffer.from(bytes.subarray(end));
    const hidden = Math.max(this.#hidden, this.#scrubber.blank(bytes, end));
    bytes.fill(BLANK, 0, this.#hidden);
    this.#hidden = Math.max(0, hidden - end);
    return bytes.subarray(0, end);
  }

  /** What was held back and proved to be no value. */
  flush(): Buffer {
    this.#scrubber.blank(this.#held);
    return this.#held.fill(BLANK, 0, this.#hidden);
  }
}
