/** `name`, or `name@` and what is wanted of it; nothing wanted is the same as no wish. */
export function splitName(word: string): { name: string; wanted: string | null } {
  const at = word.indexOf('@');
  if (at === -1) return { name: word, wanted: null };
  const wanted = word.slice(at + 1);
  return { name: word.slice(0, at), wanted: wanted === '' ? null : wanted };
}
