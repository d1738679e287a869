const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LETTERS = 10;
const CHANCE_LETTERS = 16;

/** Chance is fetched for many ids at once: asking for it costs more than making an id. */
let pool: Buffer = Buffer.alloc(0);
let used = 0;

/** 26 characters that sort by time: 48 bits of milliseconds, 80 bits of chance. */
export function newId(nowMs: number): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < TIME_LETTERS; i++) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  if (used + CHANCE_LETTERS > pool.length) {
    pool = process.getBuiltinModule('node:crypto').randomBytes(128 * CHANCE_LETTERS);
    used = 0;
  }
  let chance = '';
  for (const end = used + CHANCE_LETTERS; used < end; used++) chance += ALPHABET.charAt((pool[used] ?? 0) & 31);
  return time + chance;
}

/** A whole one, not its beginning. */
export function isId(text: string): boolean {
  return /^[0-9a-hjkmnp-tv-z]{26}$/.test(text);
}
