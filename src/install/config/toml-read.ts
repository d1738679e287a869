import { uneditable } from './edit.ts';

/** A line of TOML that means something, with all the lines that its value goes over. Values themselves are not read. */
export type Statement = {
  kind: 'table' | 'array' | 'pair';
  /** The whole path, with that of the table around it. */
  full: string[];
  /** Offsets, from the beginning of its first line to behind its last. */
  start: number;
  end: number;
  text: string;
};

const BLANK_LINE = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
const KEY_PART = /[ \t]*(?:([A-Za-z0-9_-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*/y;
const REST = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
/** The pieces that values are made of; only where they end matters. */
const PIECE =
  /"""[\s\S]*?(?<!\\)"""(?:"{0,2})|'''[\s\S]*?'''(?:'{0,2})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s#"'[\]{},]+|,/y;
const BETWEEN = /(?:[ \t\r\n]|#[^\n]*)*/y;

export function readToml(text: string): Statement[] {
  const reader = new TomlReader(text);
  const statements: Statement[] = [];
  let table: string[] = [];
  while (reader.at < text.length) {
    if (reader.match(BLANK_LINE) !== null) continue;
    const statement = reader.readStatement(table);
    if (statement.kind !== 'pair') table = statement.full;
    statements.push(statement);
  }
  return statements;
}

class TomlReader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text);
    // A pattern that matches nothing at the end of the text is a match of the end.
    if (match === null || (match[0] === '' && this.at < this.#text.length)) return null;
    this.at += match[0].length;
    return match;
  }

  readStatement(table: readonly string[]): Statement {
    const start = this.at;
    this.match(/[ \t]+/y);
    const list = this.#take('[[');
    const kind = list ? 'array' : this.#take('[') ? 'table' : 'pair';
    const key = this.#readKey();
    if (kind === 'pair') {
      if (!this.#take('=')) throw this.#wrong();
      this.match(/[ \t]+/y);
      this.#readValue();
    } else if (!this.#take(list ? ']]' : ']')) throw this.#wrong();
    if (this.at < this.#text.length && this.match(REST) === null) throw this.#wrong();
    const full = kind === 'pair' ? [...table, ...key] : key;
    return { kind, full, start, end: this.at, text: this.#text.slice(start, this.at) };
  }

  #readKey(): string[] {
    const parts: string[] = [];
    do {
      const match = this.match(KEY_PART);
      if (match === null) throw this.#wrong();
      const [, bare, quoted, literal] = match;
      // An escape in a key could be another way to write ours.
      if (quoted?.includes('\\')) throw uneditable('a key with an escape stands in it');
      parts.push(bare ?? quoted ?? literal ?? '');
    } while (this.#take('.'));
    return parts;
  }

  #readValue(): void {
    const open: string[] = [];
    do {
      if (open.length > 0) this.match(BETWEEN);
      const next = this.#text[this.at] ?? '';
      if (next === '[' || next === '{') open.push(next === '[' ? ']' : '}');
      else if (next === ']' || next === '}') {
        if (open.pop() !== next) throw this.#wrong();
      } else {
        if (this.match(PIECE) === null) throw this.#wrong();
        continue;
      }
      this.at++;
    } while (open.length > 0);
  }

  #take(word: string): boolean {
    if (!this.#text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  #wrong(): Error {
    return uneditable(`line ${this.#text.slice(0, this.at).split('\n').length} cannot be read`);
  }
}
