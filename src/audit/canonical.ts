import { isObject, type JsonValue, SkillboxError } from '../base/index.ts';

/**
 * JSON as RFC 8785 writes it, within a subset that any language can write alike: whole numbers only, because the shortest
 * form of a fraction is where implementations differ, and well-formed text only. A lone surrogate becomes U+FFFD.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (typeof value === 'number') return wholeNumber(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  // By UTF-16 code units, which is what sort() compares.
  const names = Object.keys(value).sort();
  const members = names.map(name => `${JSON.stringify(name.toWellFormed())}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
}

function wholeNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  throw new SkillboxError('INTERNAL', `an audit entry holds the number ${value}; only whole numbers can be written`);
}
