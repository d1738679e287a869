import { encodingsOf } from '../base/index.ts';

const BLANK = '*'.charCodeAt(0);

/**
 * Takes values out of what a host answers: a host that echoes a request must not hand the key to the run. Each byte becomes
 * a `*`, so that the length which the host announced stays true.
 */
export class Scrubber {
  readonly #forms: readonly Buffer[];

  constructor(values: readonly string[]) {
    // The longest first: what is part of it is gone with it.
    this.#forms = values
      .filter(value => value !== '')
      .flatMap(encodingsOf)
      .sort((a, b) => b.length - a.length);
  }

  get isEmpty(): boolean {
    return this.#forms.length === 0;
  }

  text(value: string): string {
    const bytes = Buffer.from(value, 'latin1');
    this.blank(bytes);
    return bytes.toString('latin1');
  }

  /** In place. */
  blank(bytes: Buffer): void {
    for (const form of this.#forms) {
      for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + form.length)) {
        bytes.fill(BLANK, at, at + form.length);
      }
    }
  }

  /** How many bytes at the end may be the beginning of a value that the next chunk completes. */
  pending(bytes: Buffer): number {
    let most = 0;
    for (const form of this.#forms) {
      const first = form[0] ?? 0;
      const from = Math.max(0, bytes.length - form.length + 1);
      for (
        let at = bytes.indexOf(first, from);
        at !== -1 && bytes.length - at > most;
        at = bytes.indexOf(first, at + 1)
      ) {
        if (bytes.compare(form, 0, bytes.length - at, at) === 0) most = bytes.length - at;
      }
    }
    return most;
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
