import type { JsonValue } from '../../base/index.ts';
import type { ParameterType } from '../../skill/index.ts';

/** GB-05: values between text and type. */

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const BOOLEANS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/** Text as a value of the type, or undefined when it is none. A list is one element, or a JSON array of strings. */
export function coerceText(type: ParameterType, text: string): JsonValue | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'boolean':
      return BOOLEANS.get(text.toLowerCase());
    case 'integer':
      return INTEGER.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
    case 'number':
      return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined;
    case 'array':
      return parseList(text) ?? [text];
  }
}

function parseList(text: string): string[] | null {
  if (!text.startsWith('[')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isList(value) ? value : null;
  } catch {
    return null; // not JSON: the text is itself the one element
  }
}

function isList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string');
}

export function isOfType(type: ParameterType, value: JsonValue): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    // Beyond 2^53 the digits that were sent are no longer the digits that would be passed on.
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'array':
      return isList(value);
  }
}

/** The text of a value inside one argv element; a list is joined with spaces (seed 3.4). */
export function renderValue(value: JsonValue): string {
  if (Array.isArray(value)) return value.map(renderValue).join(' ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What `{{name:modifier}}` means, which depends on the parameter's type (GB-06, GB-07). */
export type Modifier =
  | { kind: 'none' }
  /** Stands in for an absent value. */
  | { kind: 'default'; value: JsonValue }
  /** Is there when the boolean is true. */
  | { kind: 'switch'; text: string }
  /** An element of its own before the value. */
  | { kind: 'flag'; text: string }
  | { kind: 'invalid' };

export function readModifier(modifier: string | null, type: ParameterType): Modifier {
  if (modifier === null) return { kind: 'none' };
  if (type === 'boolean') return { kind: 'switch', text: modifier };
  const numeric = type === 'integer' || type === 'number';
  // `{{n:-1}}` is the default -1 and `{{n:-x}}` a flag; `{{n:-1.5}}` on an integer is a mistake, not a flag.
  if (modifier.startsWith('-') && !(numeric && /^-[\d.]/.test(modifier))) return { kind: 'flag', text: modifier };
  const value = coerceText(type, modifier);
  return value === undefined ? { kind: 'invalid' } : { kind: 'default', value };
}
