/** `name`, or `name@` and what is wanted of it. */
export function splitName(word: string): { name: string; wanted: string | null } {
  const at = word.indexOf('@');
  return at === -1 ? { name: word, wanted: null } : { name: word.slice(0, at), wanted: word.slice(at + 1) };
}
