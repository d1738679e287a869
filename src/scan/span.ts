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
    const pieces =
      glue === ' '
        ? this.#lines.flatMap(wordsOf)
        : this.#lines.map(({ number, text }) => ({ text, line: number, column: 1 }));
    const parts: Part[] = [];
    let at = 0;
    for (const { text, line, column } of pieces) {
      parts.push({ at, line, column });
      at += text.length + glue.length;
    }
    this.spans.push({ place, text: pieces.map(piece => piece.text).join(glue), parts, explained });
    this.#lines = [];
    this.#length = 0;
  }
}

type Piece = { text: string; line: number; column: number };
const BLANKS = /[\t\u00a0\u2000-\u200a\u3000]| {2}/;
const BLANK = /[\s\u00a0\u2000-\u200a\u3000]/;

/** A line of prose with single blanks between its words: how many there are must not hide a sentence from a rule. */
function wordsOf({ number, text }: Line): Piece[] {
  const start = text.length - text.trimStart().length;
  if (!BLANKS.test(text.slice(start))) return [{ text: text.slice(start), line: number, column: start + 1 }];
  const pieces: Piece[] = [];
  let from = -1;
  for (let at = start; at <= text.length; at++) {
    const inside = at < text.length && !BLANK.test(text[at] ?? ' ');
    if (inside && from === -1) from = at;
    if (inside || from === -1) continue;
    pieces.push({ text: text.slice(from, at), line: number, column: from + 1 });
    from = -1;
  }
  return pieces;
}

/** A span in pieces that no pattern is too slow for; pieces overlap so that nothing hides on a border. */
export function piecesOf(span: Span, size: number, overlap: number): Span[] {
  if (span.text.length <= size) return [span];
  const pieces: Span[] = [];
  const { parts } = span;
  // Both walk forwards once: a line of a million words has a million parts.
  let next = 0;
  for (let from = 0; from < span.text.length; from += size - overlap) {
    while (next < parts.length && (parts[next]?.at ?? 0) <= from) next++;
    const own = parts[next - 1] ?? { at: 0, line: 1, column: 1 };
    const inPiece: Part[] = [{ at: 0, line: own.line, column: own.column + from - own.at }];
    for (let at = next; at < parts.length; at++) {
      const part = parts[at];
      if (part === undefined || part.at >= from + size) break;
      inPiece.push({ ...part, at: part.at - from });
    }
    pieces.push({ ...span, text: span.text.slice(from, from + size), parts: inPiece });
  }
  return pieces;
}
