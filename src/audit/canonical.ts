import { isObject, type JsonValue, SkillboxError } from '../base/index.ts';

/**
 * JSON as RFC 8785 writes it, within a subset that any language can write alike: whole numbers only, because the shortest
 * form of a fraction is where implementations differ, and well-formed text only. A lone surrogate becomes U+FFFD.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (typeof value === 'number') return wholeNumber(value);
  // Put together by hand: every entry of the journal goes through here while a run waits.
  if (Array.isArray(value)) {
    let items = '';
    for (const item of value) items += `${items === '' ? '' : ','}${canonicalJson(item)}`;
    return `[${items}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  let members = '';
  // By UTF-16 code units, which is what sort() compares.
  for (const name of Object.keys(value).sort())
    members += `${members === '' ? '' : ','}${JSON.stringify(name.toWellFormed())}:${canonicalJson(value[name] ?? null)}`;
  return `{${members}}`;
}

function wholeNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  throw new SkillboxError('INTERNAL', `an audit entry holds the number ${value}; only whole numbers can be written`);
}
