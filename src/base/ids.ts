const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** 26 characters that sort by time: 48 bits of milliseconds, 80 bits of chance. */
export function newId(nowMs: number): string {
  let value =
    (BigInt(nowMs) << 80n) | BigInt(`0x${process.getBuiltinModule('node:crypto').randomBytes(10).toString('hex')}`);
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = ALPHABET[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}

/** A whole one, not its beginning. */
export function isId(text: string): boolean {
  return /^[0-9a-hjkmnp-tv-z]{26}$/.test(text);
}
