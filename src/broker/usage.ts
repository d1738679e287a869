const FIELD = /"(input_tokens|output_tokens|prompt_tokens|completion_tokens|total_tokens)"\s*:\s*(\d{1,12})(?=\D)/g;
/** A number cut in two by a chunk's border is read with the next chunk. */
const CARRY = 64;

/**
 * Tokens as the answer itself counts them, in JSON and in server-sent events. Counts in a stream grow, so the highest of each
 * kind is the last. Inside a text of the model the quotes are escaped, and do not match.
 */
export class UsageMeter {
  #carry = '';
  readonly #highest = new Map<string, number>();

  add(chunk: Buffer): void {
    if (this.#carry === '' && !chunk.includes('"')) return;
    const text = this.#carry + chunk.toString('latin1');
    this.#carry = text.slice(-CARRY);
    if (!text.includes('_tokens')) return;
    for (const [, name = '', digits] of text.matchAll(FIELD)) {
      this.#highest.set(name, Math.max(this.#highest.get(name) ?? 0, Number(digits)));
    }
  }

  /** Null where the answer says nothing. */
  get tokens(): number | null {
    if (this.#highest.size === 0) return null;
    const of = (name: string) => this.#highest.get(name) ?? 0;
    const parts =
      Math.max(of('input_tokens'), of('prompt_tokens')) + Math.max(of('output_tokens'), of('completion_tokens'));
    return Math.max(parts, of('total_tokens'));
  }
}

export function tellsUsage(contentType: string | undefined): boolean {
  return contentType !== undefined && /^(?:application\/json|text\/event-stream)\b/i.test(contentType);
}
