import type { JsonValue } from '../base/index.ts';

/** As deep as the output of a skill may be. What compares and prints values goes into them step by step, and has a stack of its own. */
export const MAX_DEPTH = 128;

/** The parser takes any depth. */
export function isTooDeep(value: JsonValue): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(one => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
