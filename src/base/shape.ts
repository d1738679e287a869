import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { findHidden } from './text.ts';

/**
 * What an answer must look like before anything is done with it: null when it does, else where it does not. By hand and not from the
 * schemas: what makes those is several times as large as the whole client.
 */
export type Shape<T> = ((value: unknown, at: string) => string | null) & { readonly of?: T | undefined };

export const json: Shape<JsonValue> = () => null;
export const text: Shape<string> = kind(value => typeof value === 'string');
export const flag: Shape<boolean> = kind(value => typeof value === 'boolean');
export const number: Shape<number> = kind(value => Number.isFinite(value));
export const count: Shape<number> = kind(value => Number.isSafeInteger(value) && (value as number) >= 0);
export const object: Shape<JsonObject> = kind(value => isObject(value as JsonValue));
export const time: Shape<string> = kind(value => typeof value === 'string' && !Number.isNaN(Date.parse(value)));
/** Threat: names, versions and the like are printed as they are. A server that sends steering characters would draw on the terminal. */
export const word: Shape<string> = kind(
  value => typeof value === 'string' && !/\s/.test(value) && findHidden(value) === null,
);
/** Threat: it becomes a part of file names. */
export const id: Shape<string> = kind(value => typeof value === 'string' && /^[\w-]{1,64}$/.test(value));

export function oneOf<const T extends string>(words: readonly T[]): Shape<T> {
  return kind(value => words.some(each => each === value));
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null ? null : shape(value, at));
}

/** What servers of another version leave out. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? null : shape(value, at));
}

export function listOf<T>(item: Shape<T>): Shape<T[]> {
  return (value, at) => (Array.isArray(value) ? firstOf(value.entries(), at, item) : at);
}

export function mapOf<T>(item: Shape<T>): Shape<Record<string, T>> {
  return (value, at) => (isObject(value as JsonValue) ? firstOf(Object.entries(value as JsonObject), at, item) : at);
}

/** These fields; what a newer server says beyond them is passed over. */
export function fields<T extends object>(shapes: { [K in keyof T]-?: Shape<T[K]> }): Shape<T> {
  const known = Object.entries<Shape<unknown>>(shapes);
  return (value, at) => {
    if (!isObject(value as JsonValue)) return at;
    for (const [name, shape] of known) {
      const own = Object.hasOwn(value as JsonObject, name) ? (value as JsonObject)[name] : undefined;
      const wrong = shape(own, at === '' ? name : `${at}.${name}`);
      if (wrong !== null) return wrong;
    }
    return null;
  };
}

export function pageOf<T>(item: Shape<T>): Shape<{ items: T[]; next: string | null }> {
  return fields({ items: listOf(item), next: orNull(text) });
}

function kind(is: (value: unknown) => boolean): (value: unknown, at: string) => string | null {
  return (value, at) => (is(value) ? null : at);
}

function firstOf(
  entries: Iterable<readonly [string | number, unknown]>,
  at: string,
  item: Shape<unknown>,
): string | null {
  for (const [name, value] of entries) {
    const wrong = item(value, `${at}[${name}]`);
    if (wrong !== null) return wrong;
  }
  return null;
}
