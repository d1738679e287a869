import { encodingsOf, wrappedEncodingsOf } from '../base/index.ts';
import { MIN_SCRUBBED_BYTES } from './names.ts';

/** More than the longest private key has. The lines behind them are looked for as they are: all encodings of thousands would cost speed. */
const MAX_ENCODED_LINES = 256;
/** `xxd -p` breaks its lines here, `openssl` and `base64` a little later: a value that is longer may come in several lines as it is. */
const SHORTEST_LINE = 60;
const UNBROKEN = /^[\w+/=-]+$/;
/** It stands in every key of its kind, and hides nothing. */
const PEM_BORDER = /^-----(?:BEGIN|END) [^-]*-----$/;

/** All that a value is looked for as: whole, and where it has several lines, each of them by itself; all in their encodings. */
export function spellingsOf(value: string): Buffer[] {
  return [
    ...encodingsOf(value),
    ...linesOf(value).flatMap((line, at) => (at < MAX_ENCODED_LINES ? encodingsOf(line) : [Buffer.from(line)])),
  ];
}

/**
 * What is looked for across line ends too. Threat: a short value stands somewhere in a longer text, and where the lines of its base64
 * end has nothing to do with where the value does.
 */
export function wrappedSpellingsOf(value: string): Buffer[] {
  const long = spellingsOf(value).filter(
    bytes => bytes.length > SHORTEST_LINE && UNBROKEN.test(bytes.toString('latin1')),
  );
  return [...long, ...[value, ...linesOf(value).slice(0, MAX_ENCODED_LINES)].flatMap(wrappedEncodingsOf)];
}

/** Without what they are indented by: programs print the lines of a secret one by one, with other line ends, or joined. */
function linesOf(value: string): string[] {
  if (!/[\r\n]/.test(value)) return [];
  const lines = value.split(/[\r\n]+/).map(line => line.trim());
  return [...new Set(lines)].filter(line => Buffer.byteLength(line) >= MIN_SCRUBBED_BYTES && !PEM_BORDER.test(line));
}
