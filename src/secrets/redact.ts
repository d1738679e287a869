import { emptyObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { Automaton } from './automaton.ts';
import { MIN_SCRUBBED_BYTES } from './names.ts';
import { foldedScanner, plainScanner, type Scanner } from './scanner.ts';
import { spellingsOf, wrappedSpellingsOf } from './spellings.ts';

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
  const wordsBy = (spell: (value: string) => Buffer[]) =>
    values.flatMap(({ value }, owner) => spell(value).map(bytes => ({ bytes, owner })));
  const automaton = new Automaton(wordsBy(spellingsOf));
  const folded = new Automaton(wordsBy(wrappedSpellingsOf));
  const scanners = (): Scanner[] => [plainScanner(automaton), foldedScanner(folded)];
  const markers = values.map(({ name }) => Buffer.from(`<secret:${name}>`));
  const inNames = values.map(({ name }) => Buffer.from(`secret-${name.replace(/[^\w.-]/g, '-')}`));
  const replace = (text: string, by: readonly Buffer[]): string => {
    const bytes = Buffer.from(text);
    const stream = new Stream(scanners(), by);
    const clean = Buffer.concat([stream.write(bytes), stream.flush()]);
    return stream.found ? clean.toString('utf8') : text;
  };
  const text = (value: string) => replace(value, markers);
  return {
    stream: () => new Stream(scanners(), markers),
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
  readonly #scanners: readonly Scanner[];
  readonly #markers: readonly Buffer[];
  /** What was read and not yet given on. Positions count from its beginning. */
  #held: Buffer = NOTHING;
  /** Of what is held, the bytes that belong to a value whose marker was given on already. */
  #covered = 0;
  #regions: Region[] = [];
  found = false;

  constructor(scanners: readonly Scanner[], markers: readonly Buffer[]) {
    this.#scanners = scanners;
    this.#markers = markers;
  }

  write(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let pending = 0;
    for (const scanner of this.#scanners) {
      scanner.scan(bytes, this.#held.length, (start, end, owner) => this.#cover(start, end, owner));
      pending = Math.max(pending, scanner.pending);
    }
    // No value can begin before what the scanners stand in the middle of.
    return this.#giveOn(bytes, bytes.length - pending);
  }

  flush(): Buffer {
    for (const scanner of this.#scanners) scanner.reset();
    return this.#giveOn(this.#held, this.#held.length);
  }

  /** Values may overlap, one encoding inside another: what any of them covers goes. */
  #cover(start: number, end: number, owner: number): void {
    const region = { start, end, owner };
    const at = this.#firstAfter(start);
    const overlapping: Region[] = [];
    for (
      let each = this.#regions[at];
      each !== undefined && each.start < end;
      each = this.#regions[at + overlapping.length]
    ) {
      overlapping.push(each);
    }
    for (const each of overlapping) {
      if (each.start <= region.start) region.owner = each.owner;
      region.start = Math.min(region.start, each.start);
      region.end = Math.max(region.end, each.end);
    }
    this.#regions.splice(at, overlapping.length, region);
    this.found = true;
  }

  /** The index of the first region that ends behind the place, by halves: a run may print a value thousands of times. */
  #firstAfter(place: number): number {
    let [low, high] = [0, this.#regions.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#regions[middle]?.end ?? 0) > place) high = middle;
      else low = middle + 1;
    }
    return low;
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
