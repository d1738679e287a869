import type { JsonValue } from '../base/index.ts';

const MAX_DEPTH = 128;

export type ParsedJson = { value: JsonValue; warnings: string[] } | { problem: string };

/** JSON that a skill wrote: valid UTF-8, bounded in depth before any parser sees it (parsers and printers recurse). */
export function parseJson(bytes: Buffer): ParsedJson {
  const text = bytes.toString('utf8');
  if (text.includes('\ufffd') && !Buffer.from(text, 'utf8').equals(bytes)) return { problem: 'it is not valid UTF-8' };
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (body.trim() === '') return { problem: 'it is empty' };
  if (depthOf(body) > MAX_DEPTH) return { problem: `it is nested deeper than ${MAX_DEPTH} levels` };
  const warnings: string[] = [];
  try {
    const value = JSON.parse(body) as JsonValue;
    if (/\d{16}/.test(body) && holdsUnsafeNumber(body)) {
      warnings.push('the output holds a number beyond 2^53, which loses digits; write it as a string');
    }
    return { value, warnings };
  } catch (error) {
    return { problem: `it is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}

/** Outside strings, an integer that no double holds. */
function holdsUnsafeNumber(text: string): boolean {
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  return (outside.match(/-?\d{16,}(?![\d.eE])/g) ?? []).some(
    number => BigInt(number) !== BigInt(Number(number)) || !Number.isSafeInteger(Number(number)),
  );
}
