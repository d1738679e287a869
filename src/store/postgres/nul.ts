/**
 * PostgreSQL has no character U+0000 in texts; everybody else has. It is kept as two characters that nobody uses, and what
 * would look like them is kept as two as well, so that every text comes back as it was.
 */
const MARK = '\uFDD0';
const NUL = '\uFDD1';

export function withoutNul(text: string): string {
  return /[\0\uFDD0]/.test(text) ? text.replaceAll(MARK, MARK + MARK).replaceAll('\0', MARK + NUL) : text;
}

export function withNul(text: string): string {
  return text.includes(MARK)
    ? text.replace(/\uFDD0([\uFDD0\uFDD1])/g, (_, kept) => (kept === NUL ? '\0' : MARK))
    : text;
}
