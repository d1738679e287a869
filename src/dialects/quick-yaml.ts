import type { YamlEntry, YamlNode } from './yaml.ts';

/**
 * Most frontmatter is a handful of `key: value` lines, perhaps with one nested mapping, a list, or a folded description.
 * This reads exactly that subset, many times faster than the YAML library, and gives up (null) on anything else: the result
 * is equal to the library's wherever there is one. A property test holds the two together.
 */
export function parseQuickYaml(text: string, base: number): YamlEntry[] | null {
  const lines = new Lines(text);
  const entries: YamlEntry[] = [];
  const seen = new Set<string>();
  for (; !lines.atEnd; lines.next()) {
    if (lines.isBlank) continue;
    const entry = readEntry(lines, base);
    if (entry === null || seen.has(entry.key)) return null;
    seen.add(entry.key);
    entries.push(entry);
  }
  return entries;
}

const KEY = /^([A-Za-z_][\w-]{0,63}):(?: +|$)/;
const INDENTED_KEY = /^( +)([A-Za-z_][\w-]{0,63}): +(?=\S)/;
const ITEM = /^( *)- +(?=\S)/;
const BLOCK_HEADER = /^([|>])(-?)$/;
// What starts a plain value safely: a letter, or a number with two dots (a version), which no schema takes for a number.
const PLAIN_START = /^(?:[A-Za-z\u00c0-\u1fff\u3040-\ud7ff]|\d+\.\d+\.\d)/;
// Limits, which no schema takes for a number either, and small numbers, which every schema does.
const LIMIT = /^[1-9]\d{0,8}(?:ms|[smhgk]|[KMG]i)$/;
const INTEGER = /^[1-9]\d{0,8}$/;
// Characters that YAML treats apart wherever they stand.
const SPECIAL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
// Inside a plain value: a mapping, a comment, or a key without value.
const NOT_PLAIN = /:(?:\s|$)|\s#/;
const FLOW_LIST = /^\[ *(?:[A-Za-z][\w.-]*(?: *, *[A-Za-z][\w.-]*)*)? *\]$/;
const RESERVED_KEYS = new Set([
  '__proto__',
  'constructor',
  'prototype',
  'null',
  'Null',
  'NULL',
  'true',
  'True',
  'TRUE',
  'false',
  'False',
  'FALSE',
]);

/** A cursor over the lines of the text; the current one without its ending. */
class Lines {
  readonly text: string;
  start = 0;
  line = '';

  constructor(text: string) {
    this.text = text;
    this.#read();
  }

  get atEnd(): boolean {
    return this.start >= this.text.length;
  }

  get isBlank(): boolean {
    return this.content === '';
  }

  /** Without the carriage return of its ending; one at the very end of the text is no ending to the library. */
  get content(): string {
    const ended = this.start + this.line.length < this.text.length;
    return ended && this.line.endsWith('\r') ? this.line.slice(0, -1) : this.line;
  }

  /** Where the line after the current one starts. */
  get after(): number {
    return Math.min(this.text.length, this.start + this.line.length + 1);
  }

  next(): void {
    this.start += this.line.length + 1;
    this.#read();
  }

  peek(): string {
    const start = this.start + this.line.length + 1;
    return this.text.slice(start, this.#endOf(start));
  }

  #read(): void {
    this.line = this.text.slice(this.start, this.#endOf(this.start));
  }

  #endOf(start: number): number {
    const end = this.text.indexOf('\n', start);
    return end === -1 ? this.text.length : end;
  }
}

function readEntry(lines: Lines, base: number): YamlEntry | null {
  const line = lines.content;
  const match = KEY.exec(line);
  const key = match?.[1];
  if (match === null || key === undefined || RESERVED_KEYS.has(key)) return null;
  const keyAt = base + lines.start;
  const rest = trimSpaces(line.slice(match[0].length));
  const at = keyAt + match[0].length;
  const header = BLOCK_HEADER.exec(rest);
  const node =
    rest === '' ? readBlock(lines, base) : header === null ? readScalar(rest, at) : readText(lines, header, at, base);
  return node === null ? null : { key, keyAt, node };
}

/** A value on one line: quoted without escapes, a list of words, or plain. */
function readScalar(text: string, at: number): YamlNode | null {
  if (SPECIAL.test(text)) return null;
  const mark = text[0];
  const end = at + text.length;
  if (mark === '"' || mark === "'") {
    const inner = text.slice(1, -1);
    if (text.length < 2 || !text.endsWith(mark) || inner.includes(mark) || inner.includes('\\')) return null;
    return { kind: 'scalar', value: inner, text: inner, plain: false, at, end };
  }
  if (mark === '[') return FLOW_LIST.test(text) ? readFlowList(text, at) : null;
  if (INTEGER.test(text)) return { kind: 'scalar', value: Number(text), text, plain: true, at, end };
  if ((!PLAIN_START.test(text) && !LIMIT.test(text)) || NOT_PLAIN.test(text)) return null;
  return { kind: 'scalar', value: plainValue(text), text, plain: true, at, end };
}

function readFlowList(text: string, at: number): YamlNode {
  const items = Array.from(text.matchAll(/[\w.-]+/g), ({ 0: word, index }): YamlNode => {
    const start = at + index;
    return { kind: 'scalar', value: plainValue(word), text: word, plain: true, at: start, end: start + word.length };
  });
  return { kind: 'list', items, at, end: at + text.length };
}

/** The lines below `key:`: a mapping of scalars or a list of scalars, all at one indentation. */
function readBlock(lines: Lines, base: number): YamlNode | null {
  const first = lines.peek();
  const item = ITEM.exec(first);
  if (item !== null) return readList(lines, base, item[1]?.length ?? 0);
  const key = INDENTED_KEY.exec(first);
  return key === null ? null : readMap(lines, base, key[1]?.length ?? 0);
}

function readMap(lines: Lines, base: number, indent: number): YamlNode | null {
  const entries: YamlEntry[] = [];
  const at = base + lines.after + indent;
  while (lines.peek().startsWith(' ')) {
    lines.next();
    const match = INDENTED_KEY.exec(lines.line);
    const key = match?.[2];
    if (match === null || key === undefined || match[1]?.length !== indent) return null;
    if (RESERVED_KEYS.has(key) || entries.some(other => other.key === key)) return null;
    const node = readScalar(trimSpaces(lines.line.slice(match[0].length)), base + lines.start + match[0].length);
    if (node === null) return null;
    entries.push({ key, keyAt: base + lines.start + indent, node });
  }
  return { kind: 'map', entries, at, end: base + lines.after };
}

function readList(lines: Lines, base: number, indent: number): YamlNode | null {
  const items: YamlNode[] = [];
  const at = base + lines.after + indent;
  for (let next = lines.peek(); next.startsWith(' ') || next.startsWith('-'); next = lines.peek()) {
    lines.next();
    const match = ITEM.exec(next);
    if (match === null || match[1]?.length !== indent) return null;
    const node = readScalar(trimSpaces(next.slice(match[0].length)), base + lines.start + match[0].length);
    if (node === null) return null;
    items.push(node);
  }
  return { kind: 'list', items, at, end: base + lines.after };
}

/** A block scalar whose lines all have one indentation and none is blank: folding is then joining. */
function readText(lines: Lines, header: RegExpExecArray, at: number, base: number): YamlNode | null {
  const indent = /^ +(?=\S)/.exec(lines.peek())?.[0] ?? '';
  if (indent === '') return null;
  const parts: string[] = [];
  while (lines.peek().startsWith(' ')) {
    lines.next();
    const part = lines.line.slice(indent.length);
    if (!lines.line.startsWith(indent) || part === '' || /^\s|\s$/.test(part) || SPECIAL.test(part)) return null;
    parts.push(part);
  }
  // A blank line may end the block or belong to it; and without a last newline there is none to keep.
  if (/^\s*$/.test(lines.peek()) && lines.after < lines.text.length) return null;
  if (header[2] === '' && lines.after === lines.text.length && !lines.text.endsWith('\n')) return null;
  const text = parts.join(header[1] === '>' ? ' ' : '\n') + (header[2] === '-' ? '' : '\n');
  return { kind: 'scalar', value: text, text, plain: false, at, end: base + lines.after };
}

/** Without the spaces at its end; anything else that a value could end in is for the library to judge. */
function trimSpaces(text: string): string {
  let end = text.length;
  while (text[end - 1] === ' ') end--;
  return text.slice(0, end);
}

function plainValue(text: string): string | boolean | null {
  switch (text) {
    case 'null':
    case 'Null':
    case 'NULL':
      return null;
    case 'true':
    case 'True':
    case 'TRUE':
      return true;
    case 'false':
    case 'False':
    case 'FALSE':
      return false;
    default:
      return text;
  }
}
