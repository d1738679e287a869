/** Where a text stands decides what it means: a script does what a sentence only mentions. */
export const PLACES = ['code', 'fence', 'prose', 'hidden', 'header', 'remark', 'data'] as const;
/**
 * code: a script, or a command that the skill declares as a tool. fence: a block of code in Markdown. prose: the rest of it.
 * hidden: a comment in Markdown, which a person does not see when it is rendered and a model does. header: frontmatter.
 * remark: a comment in a script. data: any other text.
 */
export type Place = (typeof PLACES)[number];

/** A piece of text that belongs together: a command with its continued lines, a paragraph, a comment. */
export type Span = {
  place: Place;
  text: string;
  /** Where each line of it starts in `text` and in the file; at least one. */
  parts: readonly Part[];
  /** The text tells of a bad thing rather than asking for it. */
  explained: boolean;
};
export type Part = { at: number; line: number; column: number };

/** Line and column, both from 1, of an offset into the span's text. */
export function placeIn(span: Span, at: number): { line: number; column: number } {
  let found = span.parts[0] ?? { at: 0, line: 1, column: 1 };
  for (const part of span.parts) {
    if (part.at > at) break;
    found = part;
  }
  return { line: found.line, column: found.column + Math.max(0, at - found.at) };
}

const EXCERPT_BEFORE = 40;
const EXCERPT_CHARS = 160;

/** What was found with the rest of its line, as far as that helps to recognise it. */
export function excerptOf({ text }: Span, at: number, length: number): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const newline = text.indexOf('\n', at + length);
  const from = Math.max(lineStart, at - EXCERPT_BEFORE);
  return text.slice(from, Math.min(newline === -1 ? text.length : newline, from + EXCERPT_CHARS));
}

export type Line = { number: number; text: string };

/** Joins lines with `glue` until the span would grow over `max`; then a new one starts with the last line. */
export class SpanBuilder {
  readonly spans: Span[] = [];
  readonly #max: number;
  #lines: Line[] = [];
  #length = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  add(line: Line, place: Place, explained: boolean, glue: string): void {
    if (this.#length + line.text.length > this.#max) {
      // The last line is in both, so that nothing hides on the border.
      const last = this.#lines.at(-1);
      this.end(place, explained, glue);
      if (last !== undefined && last.text.length < this.#max / 2) this.#push(last, glue);
    }
    this.#push(line, glue);
  }

  #push(line: Line, glue: string): void {
    this.#lines.push(line);
    this.#length += line.text.length + glue.length;
  }

  end(place: Place, explained: boolean, glue: string): void {
    if (this.#lines.length === 0) return;
    const parts: Part[] = [];
    let at = 0;
    for (const { number, text } of this.#lines) {
      parts.push({ at, line: number, column: 1 });
      at += text.length + glue.length;
    }
    this.spans.push({ place, text: this.#lines.map(line => line.text).join(glue), parts, explained });
    this.#lines = [];
    this.#length = 0;
  }
}

/** A span in pieces that no pattern is too slow for; pieces overlap so that nothing hides on a border. */
export function piecesOf(span: Span, size: number, overlap: number): Span[] {
  if (span.text.length <= size) return [span];
  const pieces: Span[] = [];
  for (let from = 0; from < span.text.length; from += size - overlap) {
    const later = span.parts.filter(part => part.at > from && part.at < from + size);
    const parts = [{ at: 0, ...placeIn(span, from) }, ...later.map(part => ({ ...part, at: part.at - from }))];
    pieces.push({ ...span, text: span.text.slice(from, from + size), parts });
  }
  return pieces;
}
