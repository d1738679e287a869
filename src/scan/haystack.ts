const SIZE = 1 << 16;

/**
 * A text in which hundreds of words are looked for. One pass notes which groups of three characters occur; most words are
 * ruled out by that, and the text is searched only for the rest.
 */
export class Haystack {
  readonly #text: string;
  readonly #groups = new Uint8Array(SIZE);

  constructor(lower: string) {
    this.#text = lower;
    for (let at = 0; at + 2 < lower.length; at++) this.#groups[groupAt(lower, at)] = 1;
  }

  /** Those of the words that are there. */
  wordsIn(words: readonly string[]): string[] {
    return words.filter(word => this.#mayHold(word) && this.#text.includes(word));
  }

  #mayHold(word: string): boolean {
    for (let at = 0; at + 2 < word.length; at++) if (this.#groups[groupAt(word, at)] === 0) return false;
    return true;
  }
}

function groupAt(text: string, at: number): number {
  return (text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & (SIZE - 1);
}
