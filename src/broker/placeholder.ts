import { Transform, type TransformCallback } from 'node:stream';
import type { CustomSecret } from './brief.ts';

/** How a value is written where its placeholder stood. */
export type Writing = 'plain' | 'url' | 'form' | 'json';
type Swap = { placeholder: Buffer; value: Buffer };

/** SK-10: a bound secret is put in for its placeholder on the way to its own host. */
export class Placeholders {
  readonly #customs: readonly { placeholder: string; value: string }[];

  constructor(customs: readonly CustomSecret[]) {
    this.#customs = customs.flatMap(({ placeholder, value }) => (placeholder === null ? [] : [{ placeholder, value }]));
  }

  get isEmpty(): boolean {
    return this.#customs.length === 0;
  }

  /** In a path or a query. */
  inUrl(text: string): string {
    return this.#replace(text, 'url');
  }

  /** In a header's value, where a `Basic` credential hides it in base64. Null: the value cannot stand in a header. */
  inHeader(text: string): string | null {
    const basic = /^(basic)\s+([A-Za-z0-9+/=]+)$/i.exec(text);
    const plain = basic === null ? text : Buffer.from(basic[2] ?? '', 'base64').toString('utf8');
    const replaced = this.#replace(plain, 'plain');
    if (replaced === plain) return text;
    if (basic !== null) return `${basic[1]} ${Buffer.from(replaced).toString('base64')}`;
    return /[^\t\x20-\x7e\x80-\xff]/.test(replaced) ? null : replaced;
  }

  /** Whether a body keeps its length, whatever of it is replaced. */
  keepsLength(writing: Writing): boolean {
    return this.#swaps(writing).every(({ placeholder, value }) => placeholder.length === value.length);
  }

  inBody(bytes: Buffer, writing: Writing): Buffer {
    let rest = bytes;
    for (const { placeholder, value } of this.#swaps(writing)) rest = replaceAll(rest, placeholder, value);
    return rest;
  }

  /** Replaces while it flows; only what may be the beginning of a placeholder waits for the next chunk. */
  stream(writing: Writing): Transform {
    const swaps = this.#swaps(writing);
    let held: Buffer = Buffer.alloc(0);
    return new Transform({
      transform: (chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) => {
        const bytes = Buffer.concat([held, chunk]);
        const words = swaps.map(({ placeholder }) => placeholder);
        const whole = Math.max(0, ...words.map(word => endOfLast(bytes, word)));
        const keep = Math.max(0, ...words.map(word => tailOf(bytes.subarray(whole), word)));
        held = bytes.subarray(bytes.length - keep);
        done(null, this.inBody(bytes.subarray(0, bytes.length - keep), writing));
      },
      flush: (done: TransformCallback) => done(null, held),
    });
  }

  #replace(text: string, writing: Writing): string {
    let rest = text;
    for (const { placeholder, value } of this.#customs)
      rest = rest.replaceAll(placeholder, () => write(value, writing));
    return rest;
  }

  #swaps(writing: Writing): Swap[] {
    return this.#customs.map(({ placeholder, value }) => ({
      placeholder: Buffer.from(placeholder),
      value: Buffer.from(write(value, writing)),
    }));
  }
}

export function writingOf(contentType: string | undefined): Writing {
  if (contentType === undefined) return 'plain';
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return 'form';
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType) ? 'json' : 'plain';
}

function write(value: string, writing: Writing): string {
  switch (writing) {
    case 'plain':
      return value;
    case 'url':
      return encodeURIComponent(value);
    case 'form':
      return new URLSearchParams([['', value]]).toString().slice(1);
    case 'json':
      return JSON.stringify(value).slice(1, -1);
  }
}

function replaceAll(bytes: Buffer, placeholder: Buffer, value: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(placeholder); at !== -1; at = bytes.indexOf(placeholder, from)) {
    parts.push(bytes.subarray(from, at), value);
    from = at + placeholder.length;
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

function endOfLast(bytes: Buffer, word: Buffer): number {
  const at = bytes.lastIndexOf(word);
  return at === -1 ? 0 : at + word.length;
}

/** How many bytes at the end are the beginning of the word. */
function tailOf(bytes: Buffer, word: Buffer): number {
  for (let length = Math.min(bytes.length, word.length - 1); length > 0; length--) {
    if (bytes.compare(word, 0, length, bytes.length - length) === 0) return length;
  }
  return 0;
}
