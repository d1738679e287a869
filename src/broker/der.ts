/**
 * The few ASN.1 values that a certificate is made of, as DER. Node reads certificates but cannot issue them, and a program
 * that issues them may not be there; this is all that would be used of one.
 */
const TAG = { boolean: 1, integer: 2, bits: 3, octets: 4, oid: 6, utf8: 12, time: 24, sequence: 48, set: 49 } as const;

export function encode(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export const sequence = (...parts: readonly Buffer[]) => encode(TAG.sequence, ...parts);
export const set = (...parts: readonly Buffer[]) => encode(TAG.set, ...parts);
export const octets = (content: Buffer) => encode(TAG.octets, content);
export const utf8 = (text: string) => encode(TAG.utf8, Buffer.from(text));
export const boolean = (value: boolean) => encode(TAG.boolean, Buffer.from([value ? 0xff : 0]));

/** Whole bytes, or the last one without its `unused` low bits. */
export const bits = (content: Buffer, unused = 0) => encode(TAG.bits, Buffer.from([unused]), content);

/** Not negative: a leading zero keeps the sign away, and no other zero leads. */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const rest = bytes.subarray(start);
  return encode(TAG.integer, ...((rest[0] ?? 0) > 0x7f ? [Buffer.from([0]), rest] : [rest]));
}

/** `1.2.840.10045.2.1` */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encode(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128))
    digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

/** Validity before 2050 is a UTCTime with two digits of the year; from then on a GeneralizedTime. */
export function time(at: Date): Buffer {
  const digits = `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  return at.getUTCFullYear() < 2050 ? encode(23, Buffer.from(digits.slice(2))) : encode(TAG.time, Buffer.from(digits));
}

/** `[number]` around a whole value, or in place of its tag. */
export const tagged = (number: number, content: Buffer) => encode(0xa0 | number, content);
export const implicit = (number: number, content: Buffer) => encode(0x80 | number, content);
