import type { YamlEntry } from './yaml.ts';

/**
 * Most frontmatter is a handful of `key: value` lines. This reads exactly that subset, many times faster than the YAML
 * library, and gives up (null) on anything else: the result is equal to the library's wherever there is one. A property
 * test holds the two together.
 */

// A key at column 0, one space or more, and a value in one of three single-line forms.
const LINE = /([A-Za-z_][\w-]*): +(?:"([^"\\\n\r]*)"[ ]*|'([^'\n\r]*)'[ ]*|([^\s"'][^\n\r]*))(?:\r?\n|$)|(?:\r?\n)/y;
// What starts a plain value safely: a letter, or a number with two dots (a version), which no schema takes for a number.
const PLAIN_START = /^(?:[A-Za-z\u00c0-\u1fff\u3040-\ud7ff]|\d+\.\d+\.\d)/;
// Inside a plain value: a mapping, a comment, a key without value, or a character that YAML treats apart.
const NOT_PLAIN = /:(?:\s|$)|\s#|[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const NOT_QUOTED = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const NULL_WORDS = new Set(['null', 'Null', 'NULL']);
const TRUE_WORDS = new Set(['true', 'True', 'TRUE']);
const FALSE_WORDS = new Set(['false', 'False', 'FALSE']);
const RESERVED_KEYS = new Set(['__proto__', 'constructor', 'prototype', 'null', 'Null', 'NULL']);
// YAML allows no longer key on the line of its value.
const MAX_KEY = 1024;

export function parseQuickYaml(text: string, base: number): YamlEntry[] | null {
  const entries: YamlEntry[] = [];
  const seen = new Set<string>();
  let position = 0;
  while (position < text.length) {
    LINE.lastIndex = position;
    const match = LINE.exec(text);
    if (match === null || match[0].length === 0) return null;
    const key = match[1];
    if (key !== undefined) {
      const entry = toEntry(key, match, base + position);
      if (entry === null || seen.has(key)) return null;
      seen.add(key);
      entries.push(entry);
    }
    position += match[0].length;
  }
  return entries;
}

function toEntry(key: string, match: RegExpExecArray, keyAt: number): YamlEntry | null {
  if (RESERVED_KEYS.has(key) || key.length > MAX_KEY) return null;
  const quoted = match[2] ?? match[3];
  const text = quoted ?? trimSpaces(match[4] ?? '');
  const at = keyAt + match[0].indexOf(match[4] ?? (match[2] === undefined ? "'" : '"'), key.length + 1);
  if (quoted !== undefined) {
    if (NOT_QUOTED.test(text)) return null;
    return { key, keyAt, node: { kind: 'scalar', value: text, text, plain: false, at, end: at + text.length + 2 } };
  }
  if (!PLAIN_START.test(text) || NOT_PLAIN.test(text)) return null;
  return {
    key,
    keyAt,
    node: { kind: 'scalar', value: plainValue(text), text, plain: true, at, end: at + text.length },
  };
}

/** Without the spaces at its end; anything else that a value could end in is for the library to judge. */
function trimSpaces(text: string): string {
  let end = text.length;
  while (text[end - 1] === ' ') end--;
  return text.slice(0, end);
}

function plainValue(text: string): string | boolean | null {
  if (text.length > 5) return text;
  if (NULL_WORDS.has(text)) return null;
  if (TRUE_WORDS.has(text)) return true;
  return FALSE_WORDS.has(text) ? false : text;
}
