import { isWarning } from './explained.ts';
import { WINDOW_CHARS } from './limits.ts';
import { type Line, type Place, type Span, SpanBuilder } from './span.ts';

const FENCE = /^[ \t>]{0,40}(?:[-*+]|\d{1,3}[.)])?[ \t]{0,8}(`{3,100}|~{3,100})([^`]{0,100})$/;
const HEADING = /^[ \t]{0,3}#{1,6}[ \t]/;
/** What Markdown hides when it is rendered: a link definition that nobody refers to. */
const HIDDEN_DEFINITION = /^[ \t]{0,3}\[[^\]]{0,40}\]:[ \t]{0,4}(?:#|<>)[ \t]{0,4}["'(]/;
const INDENTED = /^(?: {4}|\t)[ \t]{0,200}\S/;
const ITEM = /^[ \t]{0,40}(?:[-*+]|\d{1,3}[.)])[ \t]/;

/**
 * Cuts Markdown into spans by one pass over its lines: frontmatter, fences, comments and paragraphs. `commands` are templates
 * that the skill declares as tools: a fence that holds one is run as it stands, so it is code.
 */
export function markdownSpans(text: string, commands: ReadonlySet<string>): Span[] {
  return new MarkdownCutter(text.split('\n'), commands).cut();
}

class MarkdownCutter {
  readonly #lines: readonly string[];
  readonly #commands: ReadonlySet<string>;
  readonly #builder = new SpanBuilder(WINDOW_CHARS);
  #headingWarns = false;
  #inList = false;
  /** Whether each of the last lines of prose warned. */
  #before: boolean[] = [];
  /** Fixed where a paragraph starts: its own words are weighed without the part that was found. */
  #explained = false;

  /** The last line that closes a fence of this mark, for every mark from three characters on. */
  readonly #lastClosing = new Map<string, number>();

  constructor(lines: readonly string[], commands: ReadonlySet<string>) {
    this.#lines = lines;
    this.#commands = commands;
    lines.forEach((line, at) => {
      let mark = closingMark(line);
      if (mark === '') return;
      for (; mark.length >= 3; mark = mark.slice(1)) this.#lastClosing.set(mark, at);
    });
  }

  cut(): Span[] {
    let at = this.#cutHeader();
    while (at < this.#lines.length) at = this.#cutNext(at);
    this.#end();
    return this.#builder.spans;
  }

  #cutHeader(): number {
    if ((this.#lines[0] ?? '').replace(/^\ufeff/, '').trimEnd() !== '---') return 0;
    const end = this.#lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line.slice(0, 200)));
    if (end === -1) return 0;
    // Field by field: an indented line goes on with the one above, as in a folded description.
    for (let at = 1; at < end; at++) {
      const text = this.#lines[at] ?? '';
      if (!/^[ \t]/.test(text)) this.#builder.end('header', false, ' ');
      this.#builder.add({ number: at + 1, text }, 'header', false, ' ');
    }
    this.#builder.end('header', false, ' ');
    return end + 1;
  }

  #cutNext(at: number): number {
    const text = this.#lines[at] ?? '';
    const fence = FENCE.exec(text.length > 300 ? '' : text.trimEnd());
    if (fence !== null) return this.#cutFence(at, fence[1] ?? '```');
    const comment = text.indexOf('<!--');
    if (comment !== -1 && this.#isComment(at, comment)) return this.#cutComment(at, comment);
    if (HIDDEN_DEFINITION.test(text.slice(0, 200))) {
      this.#end();
      this.#single(at, 'hidden');
      return at + 1;
    }
    if (INDENTED.test(text) && this.#builder.isEmpty && !this.#inList) return this.#cutIndented(at);
    this.#addProse(at, text);
    return at + 1;
  }

  /** The older way to write a block of code: four blanks before each line, outside of a list. */
  #cutIndented(at: number): number {
    let end = at;
    while (end < this.#lines.length && INDENTED.test(this.#lines[end] ?? '')) end++;
    const body = this.#lines.slice(at, end);
    for (const span of codeSpans(body, at + 1, 'fence', 'fence', this.#isExplained())) this.#builder.spans.push(span);
    return end;
  }

  #addProse(at: number, text: string): void {
    const line: Line = { number: at + 1, text };
    const isHeading = HEADING.test(text.slice(0, 12));
    if (isHeading || text.trim() === '' || ITEM.test(text.slice(0, 60)) || text.startsWith('|')) this.#end();
    if (text.trim() === '') return;
    if (ITEM.test(text.slice(0, 60))) this.#inList = true;
    else if (!/^[ \t]/.test(text)) this.#inList = false;
    if (this.#builder.isEmpty) this.#explained = this.#isExplained();
    this.#builder.add(line, 'prose', this.#explained, ' ');
    const warns = isWarning(text);
    if (isHeading) this.#headingWarns = warns;
    this.#before = isHeading ? [] : [...this.#before.slice(-2), warns];
    if (isHeading) this.#end();
  }

  /** A fence that never closes would make everything below it an example: then it is no fence. */
  #cutFence(at: number, mark: string): number {
    this.#end();
    // Looked up, not searched for: a thousand fences that never close must not each cost a walk to the end.
    if ((this.#lastClosing.get(mark) ?? -1) <= at) {
      this.#addProse(at, this.#lines[at] ?? '');
      return at + 1;
    }
    let end = at + 1;
    while (end < this.#lines.length && !closingMark(this.#lines[end] ?? '').startsWith(mark)) end++;
    const body = this.#lines.slice(at + 1, end);
    const isCommand = this.#commands.has(body.join('\n').trim());
    const explained = !isCommand && this.#isExplained();
    for (const span of codeSpans(body, at + 2, isCommand ? 'code' : 'fence', 'fence', explained))
      this.#builder.spans.push(span);
    this.#before = [];
    return end + 1;
  }

  /** Not one in backticks, nor one that never closes behind other text: those are shown. */
  #isComment(at: number, column: number): boolean {
    const line = this.#lines[at] ?? '';
    const before = line.slice(0, column);
    if (before.trim() === '') return true;
    return before.split('`').length % 2 === 1 && line.includes('-->', column);
  }

  #cutComment(at: number, column: number): number {
    const first = this.#lines[at] ?? '';
    if (first.slice(0, column).trim() !== '') this.#addProse(at, first.slice(0, column));
    this.#end();
    let end = at;
    const builder = this.#builder;
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end] ?? '';
      const from = end === at ? column + 4 : 0;
      const close = line.indexOf('-->', from);
      const text = line.slice(from, close === -1 ? undefined : close);
      builder.add(
        { number: end + 1, text: end === at ? ' '.repeat(Math.min(from, 200)) + text : text },
        'hidden',
        false,
        ' ',
      );
      if (close === -1) continue;
      builder.end('hidden', false, ' ');
      const rest = line.slice(close + 3);
      // What stands behind a comment is looked at as prose; comments behind it, too.
      if (rest.includes('<!--')) builder.spans.push(...restOfLine(rest, end + 1, close + 4));
      else if (rest.trim() !== '') this.#addProse(end, ' '.repeat(Math.min(close + 3, 200)) + rest);
      return end + 1;
    }
    builder.end('hidden', false, ' ');
    return end;
  }

  #single(at: number, place: Place): void {
    const text = this.#lines[at] ?? '';
    this.#builder.spans.push({ place, text, parts: [{ at: 0, line: at + 1, column: 1 }], explained: false });
  }

  #isExplained(): boolean {
    return this.#headingWarns || this.#before.includes(true);
  }

  #end(): void {
    this.#builder.end('prose', this.#explained, ' ');
  }
}

/** The run of backticks or tildes that a line consists of, or nothing. */
function closingMark(line: string): string {
  if (line.length > 300 || !(line.includes('```') || line.includes('~~~'))) return '';
  const text = line.replace(/^[ \t>]{0,40}/, '').trimEnd();
  const [first = ''] = text;
  return (first === '`' || first === '~') && text.length <= 100 && text === first.repeat(text.length) ? text : '';
}

/** Several comments on one line: what is in them and between them is taken as hidden, the graver of the two. */
function restOfLine(text: string, line: number, column: number): Span[] {
  return [{ place: 'hidden', text, parts: [{ at: 0, line, column }], explained: false }];
}

/** In an example, whose language is a guess. */
const ANY_REMARK = /^[ \t]{0,200}(?:#(?!!)|\/\/)/;

/** Lines of code, those joined that a backslash, a pipe or an open operator continues. */
export function codeSpans(
  lines: readonly string[],
  firstNumber: number,
  place: Place,
  remark: Place,
  explained: boolean,
  remarks: RegExp = ANY_REMARK,
): Span[] {
  const builder = new SpanBuilder(WINDOW_CHARS);
  let warned = 0;
  lines.forEach((text, index) => {
    const line = { number: firstNumber + index, text };
    const isRemark = remarks.test(text.slice(0, 220));
    const says = place === 'fence' && isWarning(isRemark ? text : trailingRemark(text));
    // A remark in an example speaks for the few lines below it.
    if (isRemark && place === 'fence') warned = says ? 4 : warned;
    const about = explained || (place === 'fence' && (warned > 0 || says));
    if (!isRemark && warned > 0) warned--;
    if (isRemark) builder.end(place, about, '\n');
    builder.add(line, isRemark ? remark : place, about, '\n');
    const next = lines[index + 1] ?? '';
    if (isRemark || !continues(text, next)) builder.end(isRemark ? remark : place, about, '\n');
  });
  builder.end(place, explained, '\n');
  return builder.spans;
}

function trailingRemark(text: string): string {
  const at = Math.max(text.lastIndexOf(' #'), text.lastIndexOf(' //'));
  return at === -1 ? '' : text.slice(at);
}

function continues(text: string, next: string): boolean {
  const end = text.slice(-200).trimEnd();
  if (/(?:\\|\||&&|[({[,+])$/.test(end)) return true;
  return /^[ \t]{0,80}(?:\||&&|\.\w|\)|\+)/.test(next.slice(0, 100));
}
