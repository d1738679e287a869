/** Whether a text warns of something. It makes a finding milder, never absent: whoever writes the text chose the words. */

const WARNING =
  /\b(?:bad|never|don['’]t|do not|must not|avoid|wrong|unsafe|insecure|vulnerab\w{1,8}|malicious|malware|attack\w{0,4}|anti-?patterns?|dangerous|suspicious|exploit\w{0,5}|red flags?|detect\w{0,5}|injections?|forbidden|blocked|denied|rejected|threats?|harmful|flagged|prohibited|backdoors?|adversar\w{1,8}|hostile)\b|[❌🚫⛔✗✘]/iu;
/** A double negative is an order. */
const NOT_A_WARNING = /\b(?:never|don['’]t|do not) (?:forget|fail|hesitate|skip|omit|stop|wait)\b/i;

export function isWarning(text: string): boolean {
  const start = text.length > 400 ? text.slice(-400) : text;
  return WARNING.test(start) && !NOT_A_WARNING.test(start);
}

const NEGATION =
  /\b(?:never|don['’]t|do not|does not|doesn['’]t|must not|mustn['’]t|should not|shouldn['’]t|cannot|can['’]t|avoid|refuse to) (?:[a-z]{1,12} ){0,2}$/i;

/** "Never send …": the sentence forbids what it names. */
export function isNegated(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 80), at);
  return (
    NEGATION.test(before.replaceAll('*', '').replaceAll('_', '')) &&
    !NOT_A_WARNING.test(before + text.slice(at, at + 20))
  );
}

/** Between quotes or backticks: spoken of, not said. */
export function isQuoted(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 120), at);
  for (const [open, close] of [
    ['"', '"'],
    ['`', '`'],
    ['“', '”'],
    ['«', '»'],
  ] as const) {
    const opened = before.lastIndexOf(open);
    if (opened === -1) continue;
    if (open === close && count(before, open) % 2 === 0) continue;
    if (open !== close && before.lastIndexOf(close) > opened) continue;
    if (text.slice(at, at + 400).includes(close)) return true;
  }
  return false;
}

/** "Run `…`": a sentence that has the command carried out advises it as a block of code would. */
export function isOrdered(text: string, at: number): boolean {
  return /\b(?:run|execute|paste|enter|type|invoke|issue)\b[^.!?`]{0,40}`[^`]{0,20}$/i.test(
    text.slice(Math.max(0, at - 90), at),
  );
}

function count(text: string, mark: string): number {
  let found = 0;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) found++;
  return found;
}
