import { encodingsOf } from '../base/index.ts';
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
    const forms = values.flatMap(encodingsOf).filter(({ length }) => length > 0);
    this.isEmpty = forms.length === 0;
    this.#search = new Search(forms);
  }

  text(value: string): string {
    const bytes = Buffer.from(value, 'latin1');
    this.blank(bytes);
    return bytes.toString('latin1');
  }

  /** In place. */
  blank(bytes: Buffer): void {
    const places = this.#search.places(bytes);
    for (let at = 0; at < places.length; at += 2) bytes.fill(BLANK, places[at], places[at + 1]);
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
  #held: Buffer = Buffer.alloc(0);

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  /** Takes the chunk over: what a socket read belongs to this answer alone, and is changed in place. */
  push(chunk: Buffer): Buffer {
    if (this.#scrubber.isEmpty) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#scrubber.blank(bytes);
    const keep = this.#scrubber.pending(bytes);
    this.#held = bytes.subarray(bytes.length - keep);
    return bytes.subarray(0, bytes.length - keep);
  }

  /** What was held back and proved to be no value. */
  flush(): Buffer {
    return this.#held;
  }
}
