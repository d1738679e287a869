import type { JsonValue } from '../base/index.ts';

const MAX_DEPTH = 128;

export type ParsedJson = { value: JsonValue; warnings: string[] } | { problem: string };

/** JSON that a skill wrote: valid UTF-8, bounded in depth before any parser sees it (parsers and printers recurse). */
export function parseJson(bytes: Buffer): ParsedJson {
  const text = bytes.toString('utf8');
  if (text.includes('\ufffd') && !Buffer.from(text, 'utf8').equals(bytes)) return { problem: 'it is not valid UTF-8' };
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (body.trim() === '') return { problem: 'it is empty' };
  const { depth, lossy, infinite } = scan(body);
  if (depth > MAX_DEPTH) return { problem: `it is nested deeper than ${MAX_DEPTH} levels` };
  // JavaScript reads 1e999 as Infinity and writes that as null.
  if (infinite) return { problem: 'it holds a number that is too large' };
  try {
    const value = JSON.parse(body) as JsonValue;
    const warning = 'the output holds a number beyond 2^53, which loses digits; write it as a string';
    return { value, warnings: lossy ? [warning] : [] };
  } catch (error) {
    return { problem: `it is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

type Scanned = { depth: number; lossy: boolean; infinite: boolean };

/** One pass by hand: a regular expression over ten megabytes of a stranger's text can overflow or hang. */
function scan(text: string): Scanned {
  const found: Scanned = { depth: 0, lossy: false, infinite: false };
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i + 1);
    else if (code === 0x5b || code === 0x7b) found.depth = Math.max(found.depth, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
    else if (code === 0x2d || isDigit(code)) {
      const start = i;
      while (isNumberPart(text.charCodeAt(i + 1))) i++;
      judgeNumber(text.slice(start, i + 1), found);
    }
  }
  return found;
}

const QUOTE = 0x22;

function endOfString(text: string, from: number): number {
  let i = from;
  while (i < text.length && text.charCodeAt(i) !== QUOTE) i += text.charCodeAt(i) === 0x5c ? 2 : 1;
  return i;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x2b || code === 0x2d || code === 0x45 || code === 0x65;
}

/** An integer of few digits is always held; so is a fraction, as nearly as a double holds any. */
function judgeNumber(token: string, found: Scanned): void {
  if (token.length < 4) return;
  const value = Number(token);
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) found.infinite = true;
  else if (token.length > 15 && /^-?\d+$/.test(token) && !Number.isSafeInteger(value)) found.lossy = true;
}

/** How deep a value is, up to one more than `limit`, without recursing. */
export function depthOfValue(value: JsonValue, limit: number): number {
  let level: JsonValue[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= limit) {
    const inner = level.filter(each => typeof each === 'object' && each !== null);
    if (inner.length > 0) depth++;
    level = inner.flatMap(each => Object.values(each as object) as JsonValue[]);
  }
  return depth;
}

export { MAX_DEPTH as MAX_JSON_DEPTH };
