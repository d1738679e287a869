import { isObject, type JsonValue, visibleLine } from '../base/index.ts';

/**
 * Where `actual` is not as expected, in words; null when it fits. Objects may have more fields than are expected; everything else,
 * lists too, is as it was written.
 */
export function difference(expected: JsonValue, actual: JsonValue | undefined, at = 'output'): string | null {
  if (isObject(expected)) {
    if (!isObject(actual)) return differs(expected, actual, at);
    for (const [name, value] of Object.entries(expected)) {
      const found = difference(value, Object.hasOwn(actual, name) ? actual[name] : undefined, `${at}.${name}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (!Array.isArray(expected)) return expected === actual ? null : differs(expected, actual, at);
  if (!Array.isArray(actual)) return differs(expected, actual, at);
  if (expected.length !== actual.length)
    return `${visibleLine(at, 120)} has ${actual.length} items, not ${expected.length}`;
  for (const [index, value] of expected.entries()) {
    const found = difference(value, actual[index], `${at}[${index}]`);
    if (found !== null) return found;
  }
  return null;
}

function differs(expected: JsonValue, actual: JsonValue | undefined, at: string): string {
  const place = visibleLine(at, 120);
  return actual === undefined ? `${place} is missing` : `${place} is ${show(actual)}, not ${show(expected)}`;
}

function show(value: JsonValue): string {
  return visibleLine(JSON.stringify(value), 80);
}
