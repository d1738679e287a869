const SAYS =
  /\b(?:print|println|printf|echo|console\.(?:log|error|warn|info)|log(?:ger|ging)?\.(?:debug|info|warn|warning|error)|raise \w{1,40}|throw new \w{1,40}|die|warn|error|fail|usage|help=|description=|sys\.exit|Error)\b[^"'`]{0,20}$/i;

/**
 * Inside a string that a script only prints: `echo "Install it with: curl … | sh"`. What is printed into a pipe or a file, or
 * what a shell would put in while printing, is not only printed.
 */
export function isSpoken(text: string, at: number): boolean {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const before = text.slice(Math.max(lineStart, at - 400), at);
  const quote = openQuote(before);
  if (quote === null || !SAYS.test(before.slice(0, quote.at))) return false;
  const newline = text.indexOf('\n', at);
  const rest = text.slice(at, Math.min(newline === -1 ? text.length : newline, at + 600));
  const close = rest.indexOf(quote.mark);
  if (close === -1) return false;
  const inside = before.slice(quote.at) + rest.slice(0, close);
  if (quote.mark === '"' && /\$\(|`/.test(inside)) return false;
  // Only what reports an error may go elsewhere than to the reader.
  return !/[|>]/.test(rest.slice(close + 1).replace(/>&2|1>&2/g, ''));
}

function openQuote(before: string): { at: number; mark: string } | null {
  let open: { at: number; mark: string } | null = null;
  for (let at = 0; at < before.length; at++) {
    const char = before[at] ?? '';
    if (char === '\\') at++;
    else if (open === null && (char === '"' || char === "'" || char === '`')) open = { at, mark: char };
    else if (open !== null && char === open.mark) open = null;
  }
  return open;
}
