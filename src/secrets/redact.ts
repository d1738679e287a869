import { emptyObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { Automaton } from './automaton.ts';
import { encodingsOf } from './encodings.ts';
import { MIN_SCRUBBED_BYTES } from './names.ts';

export type NamedValue = { name: string; value: string };

/** Bytes in, bytes out. What may be the beginning of a value waits for the next call, never more than the longest of them. */
export type RedactStream = { write(chunk: Buffer): Buffer; flush(): Buffer };

/**
 * The net over everything that leaves a run: values that it was given are replaced by `<secret:NAME>`. It catches accidents; a
 * skill that holds a value can spell it in a way that nobody looks for, which is why secrets are better bound to hosts.
 */
export type Redactor = {
  stream(): RedactStream;
  text(text: string): string;
  /** Deep, keys too. */
  json(value: JsonValue): JsonValue;
  /** For the name of a file, in which the marker's characters may not stand. */
  name(name: string): string;
};

/** null when there is nothing to look for: then nothing is done to any byte. */
export function createRedactor(values: readonly NamedValue[]): Redactor | null {
  if (values.length === 0) return null;
  const short = values.find(({ value }) => Buffer.byteLength(value) < MIN_SCRUBBED_BYTES);
  if (short !== undefined)
    throw new SkillboxError('INTERNAL', `the value of ${short.name} is too short to be scrubbed`);
  const words = values.flatMap(({ value }, owner) => encodingsOf(value).map(bytes => ({ bytes, owner })));
  const automaton = new Automaton(words);
  const markers = values.map(({ name }) => Buffer.from(`<secret:${name}>`));
  const inNames = values.map(({ name }) => Buffer.from(`secret-${name.replace(/[^\w.-]/g, '-')}`));
  const replace = (text: string, by: readonly Buffer[]): string => {
    const bytes = Buffer.from(text);
    const stream = new Stream(automaton, by);
    const clean = Buffer.concat([stream.write(bytes), stream.flush()]);
    return stream.found ? clean.toString('utf8') : text;
  };
  const text = (value: string) => replace(value, markers);
  return {
    stream: () => new Stream(automaton, markers),
    text,
    json: value => redactJson(value, text),
    name: name => replace(name, inNames),
  };
}

function redactJson(value: JsonValue, text: (value: string) => string): JsonValue {
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') {
    // A value of digits is a number in JSON.
    const clean = text(String(value));
    return clean === String(value) ? value : clean;
  }
  if (Array.isArray(value)) return value.map(each => redactJson(each, text));
  if (value === null || typeof value !== 'object') return value;
  const clean: JsonObject = emptyObject();
  for (const [key, each] of Object.entries(value)) {
    let name = text(key);
    while (name !== key && (Object.hasOwn(clean, name) || Object.hasOwn(value, name))) name += '+';
    clean[name] = redactJson(each as JsonValue, text);
  }
  return clean;
}

/** `end` is behind the last byte. */
type Region = { start: number; end: number; owner: number };
const NOTHING: Buffer = Buffer.alloc(0);

class Stream implements RedactStream {
  readonly #automaton: Automaton;
  readonly #markers: readonly Buffer[];
  #state = 0;
  /** What was read and not yet given on. Positions count from its beginning. */
  #held: Buffer = NOTHING;
  /** Of what is held, the bytes that belong to a value whose marker was given on already. */
  #covered = 0;
  #regions: Region[] = [];
  found = false;

  constructor(automaton: Automaton, markers: readonly Buffer[]) {
    this.#automaton = automaton;
    this.#markers = markers;
  }

  write(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#scan(bytes, this.#held.length);
    // No value can begin before what the state stands for.
    return this.#giveOn(bytes, bytes.length - (this.#automaton.depth[this.#state] ?? 0));
  }

  flush(): Buffer {
    this.#state = 0;
    return this.#giveOn(this.#held, this.#held.length);
  }

  #scan(bytes: Buffer, from: number): void {
    const automaton = this.#automaton;
    const { root, length } = automaton;
    const end = bytes.length;
    let state = this.#state;
    for (let at = from; at < end; at++) {
      if (state === 0) {
        while (at < end && root[bytes[at] ?? 0] === 0) at++;
        if (at === end) break;
      }
      state = automaton.step(state, bytes[at] ?? 0);
      if (length[state] !== 0) this.#cover(at + 1 - (length[state] ?? 0), at + 1, automaton.owner[state] ?? 0);
    }
    this.#state = state;
  }

  /** Values may overlap, one encoding inside another: what any of them covers goes. */
  #cover(start: number, end: number, owner: number): void {
    const region = { start, end, owner };
    for (let last = this.#regions.at(-1); last !== undefined && last.end > region.start; last = this.#regions.at(-1)) {
      region.start = Math.min(region.start, last.start);
      region.owner = last.owner;
      this.#regions.pop();
    }
    this.#regions.push(region);
    this.found = true;
  }

  /** Everything before `final`, the covered parts as markers. */
  #giveOn(bytes: Buffer, final: number): Buffer {
    const parts: Buffer[] = [];
    let at = Math.min(this.#covered, final);
    let kept = 0;
    for (const { start, end, owner } of this.#regions) {
      if (start < this.#covered) this.#covered = Math.max(this.#covered, end);
      else if (start < final) {
        parts.push(bytes.subarray(at, start), this.#markers[owner] ?? NOTHING);
        this.#covered = end;
      } else break;
      at = Math.min(this.#covered, final);
      kept++;
    }
    if (at < final) parts.push(bytes.subarray(at, final));
    this.#regions = this.#regions
      .slice(kept)
      .map(each => ({ ...each, start: each.start - final, end: each.end - final }));
    this.#covered = Math.max(0, this.#covered - final);
    // A copy: whoever gave the chunk may use its memory again.
    this.#held = final === bytes.length ? NOTHING : Buffer.from(bytes.subarray(final));
    return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
  }
}
