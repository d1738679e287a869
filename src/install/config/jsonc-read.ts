import { emptyObject, type JsonValue } from '../../base/index.ts';
import { uneditable } from './edit.ts';

/** JSON with comments and trailing commas, with the place of everything. Places are offsets into the text. */
export type JsoncNode = { start: number; end: number; value: JsonValue; members: Member[] | null };
export type Member = {
  key: string;
  start: number;
  node: JsoncNode;
  /** Behind the comma that follows; null where none does. */
  afterComma: number | null;
};

const MAX_DEPTH = 64;
const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const BLANK = /(?:[ \t\r\n]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

export function readJsonc(text: string): JsoncNode {
  const reader = new Reader(text);
  const node = reader.readValue(0);
  reader.skipBlank();
  if (reader.at !== text.length) throw uneditable(`something follows the end, in line ${reader.line()}`);
  return node;
}

class Reader {
  readonly #text: string;
  at: number;

  constructor(text: string) {
    this.#text = text;
    this.at = text.startsWith('\ufeff') ? 1 : 0;
  }

  line(): number {
    return this.#text.slice(0, this.at).split('\n').length;
  }

  skipBlank(): void {
    this.#match(BLANK);
  }

  readValue(depth: number): JsoncNode {
    if (depth > MAX_DEPTH) throw uneditable('it is nested too deeply');
    this.skipBlank();
    const start = this.at;
    const first = this.#text[start];
    if (first === '{') return this.#readObject(start, depth);
    if (first === '[') return this.#readArray(start, depth);
    const scalar = first === '"' ? this.#match(STRING) : this.#match(LITERAL);
    if (scalar === null) throw uneditable(`line ${this.line()} cannot be read`);
    return { start, end: this.at, value: JSON.parse(scalar) as JsonValue, members: null };
  }

  #readObject(start: number, depth: number): JsoncNode {
    this.at++;
    const members: Member[] = [];
    const value = emptyObject();
    for (;;) {
      this.skipBlank();
      if (this.#text[this.at] === '}') break;
      if (members.length > 0 && members.at(-1)?.afterComma === null)
        throw uneditable(`a comma is missing in line ${this.line()}`);
      const keyStart = this.at;
      const word = this.#match(STRING);
      if (word === null) throw uneditable(`line ${this.line()} cannot be read`);
      const key = JSON.parse(word) as string;
      // Readers disagree on which of two counts.
      if (Object.hasOwn(value, key)) throw uneditable(`"${key}" stands in it twice`);
      this.skipBlank();
      if (this.#text[this.at++] !== ':') throw uneditable(`a colon is missing in line ${this.line()}`);
      const node = this.readValue(depth + 1);
      value[key] = node.value;
      members.push({ key, start: keyStart, node, afterComma: this.#readComma() });
    }
    this.at++;
    return { start, end: this.at, value, members };
  }

  #readArray(start: number, depth: number): JsoncNode {
    this.at++;
    const value: JsonValue[] = [];
    let comma: number | null = 0;
    for (;;) {
      this.skipBlank();
      if (this.#text[this.at] === ']') break;
      if (comma === null) throw uneditable(`a comma is missing in line ${this.line()}`);
      value.push(this.readValue(depth + 1).value);
      comma = this.#readComma();
    }
    this.at++;
    return { start, end: this.at, value, members: null };
  }

  #readComma(): number | null {
    const end = this.at;
    this.skipBlank();
    if (this.#text[this.at] === ',') return ++this.at;
    this.at = end;
    return null;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.at += match[0].length;
    return match[0];
  }
}
