import { isObject, type JsonObject, type JsonValue, SkillboxError, visibleLine } from '../base/index.ts';
import type { Folder } from '../skill/index.ts';
import { isTooDeep, MAX_DEPTH } from './depth.ts';

/** Test files are written by hand: what is larger is something else. */
const MAX_BYTES = 1024 ** 2;
const MAX_ENTRIES = 500;

/** Reads an entry's fields; every fault names the file, the entry and the field. */
export class Entry {
  readonly #where: string;
  readonly #fields: JsonObject;

  constructor(where: string, fields: JsonObject, known: readonly string[]) {
    this.#where = where;
    this.#fields = fields;
    const odd = Object.keys(fields).find(name => !known.includes(name));
    if (odd !== undefined)
      throw this.fault(`has the unknown field "${visibleLine(odd, 40)}"; known: ${known.join(', ')}`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  value(name: string): JsonValue | undefined {
    return this.has(name) ? this.#fields[name] : undefined;
  }

  text(name: string): string | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (typeof value !== 'string' || value.trim() === '')
      throw this.fault(`"${name}" must be a text that is not empty`);
    return value;
  }

  texts(name: string): string[] | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (!Array.isArray(value)) throw this.fault(`"${name}" must be a list of texts`);
    return value.map(item => {
      if (typeof item !== 'string') throw this.fault(`"${name}" must be a list of texts`);
      return item;
    });
  }

  object(name: string): JsonObject | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (!isObject(value)) throw this.fault(`"${name}" must be an object`);
    return value;
  }

  inner(name: string, known: readonly string[]): Entry | null {
    const fields = this.object(name);
    return fields === null ? null : new Entry(`${this.#where}, ${name}`, fields, known);
  }

  fault(what: string): SkillboxError {
    return fault(this.#where, what);
  }
}

/**
 * The entries of a test file; null when the skill has none. A file that is there and does not read is an error, never an empty
 * list: a test that is not run must not look like one that passed.
 */
export function readList(
  folder: Folder,
  file: string,
  known: readonly string[],
  key: string | null = null,
): Entry[] | null {
  if (folder.file(file) === null) return null;
  const list = listIn(parse(folder, file), key);
  if (list === null)
    throw fault(file, key === null ? 'must be a list' : `must be a list, or an object with a list "${key}"`);
  if (list.length > MAX_ENTRIES) throw fault(file, `has ${list.length} entries; ${MAX_ENTRIES} are the most`);
  return list.map((fields, index) => {
    const where = `${file}, entry ${index + 1}`;
    if (!isObject(fields)) throw fault(where, 'must be an object');
    return new Entry(where, fields, known);
  });
}

function parse(folder: Folder, file: string): JsonValue {
  const size = folder.file(file)?.size ?? 0;
  if (size > MAX_BYTES) throw fault(file, `has ${size} bytes; ${MAX_BYTES} are the most`);
  const text = folder
    .read(file, MAX_BYTES)
    .toString('utf8')
    .replace(/^\ufeff/, '');
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    // The parser's own words quote the file.
    const told = visibleLine(cause instanceof Error ? cause.message : String(cause), 120);
    throw fault(file, `is not JSON: ${told}`, cause);
  }
  if (isTooDeep(value)) throw fault(file, `is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function listIn(value: JsonValue, key: string | null): JsonValue[] | null {
  if (Array.isArray(value)) return value;
  if (key === null || !isObject(value) || !Object.hasOwn(value, key)) return null;
  const inner = value[key];
  return Array.isArray(inner) ? inner : null;
}

function fault(where: string, what: string, cause?: unknown): SkillboxError {
  return new SkillboxError('INVALID_EVALS', `${where}: ${what}`, { cause });
}
