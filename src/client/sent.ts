import { SkillboxError } from '../base/index.ts';
import { toTime } from '../wire/index.ts';

/** What a caller gives, as it goes over the wire; what cannot is refused before anybody is asked. */

/** Threat: a URL takes some names for steps, however they are written, and the request would go elsewhere. */
export function partOfPath(part: string): string {
  if (part === '') throw new SkillboxError('NOT_FOUND', 'there is nothing without a name');
  if (part === '.' || part === '..') throw new SkillboxError('NOT_FOUND', `there is nothing called "${part}"`);
  if (!part.isWellFormed()) throw new SkillboxError('NOT_FOUND', 'there is nothing with half a character in its name');
  return encodeURIComponent(part);
}

export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new SkillboxError('USAGE', 'what is sent is not JSON: it holds itself, or what JSON has no word for', {
      cause,
    });
  }
}

export function timeText(ms: number | null): string | null {
  if (ms === null) return null;
  const year = new Date(ms).getUTCFullYear();
  // Of four digits, as RFC 3339 has it.
  if (year >= 0 && year <= 9999) return toTime(ms);
  throw new SkillboxError('USAGE', `${ms} is no time`, { hint: 'Give milliseconds since 1970.' });
}

export function checkedKey(key: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new SkillboxError('USAGE', 'an idempotency key has 1 to 255 visible characters of ASCII');
}

export function offsetText(offset: number): string {
  if (Number.isSafeInteger(offset) && offset >= 0) return String(offset);
  throw new SkillboxError('USAGE', 'an offset is a whole number from 0', {
    hint: 'Give one that an answer has named.',
  });
}
