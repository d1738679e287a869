/**
 * The name and description of a SKILL.md whose frontmatter is as plain as most are: the fields of the format itself, each once,
 * with values that mean the same to every reader. It works on the bytes as they were read and makes no string but those two, for
 * discovery looks at many thousands of files. Anything else is null, and for the other readers to judge; a property test holds
 * this one to them.
 */
export type PlainHead = { name: string; description: string };

// None of these makes a dialect of its own, or asks for anything (see summary.ts).
const KEYS = ['name:', 'description:', 'license:', 'compatibility:', 'metadata:', 'allowed-tools:'].map(key =>
  Buffer.from(key),
);
const [NAME, DESCRIPTION, METADATA] = [0, 1, 4];
const OPEN = Buffer.from('---\n');
const MAX_HEAD_BYTES = 16 * 1024;

const [NEWLINE, SPACE, DOUBLE, HASH, SINGLE, DASH] = [0x0a, 0x20, 0x22, 0x23, 0x27, 0x2d];
const [COLON, GREATER, BACKSLASH, BAR, DELETE] = [0x3a, 0x3e, 0x5c, 0x7c, 0x7f];

// Characters that YAML or trim() treat apart, and what stands for bytes that are no UTF-8.
const ODD = /[\u0080-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\ufffd-\uffff]/;
const WORD_START = /^[A-Za-z\u00c0-\u1fff\u3040-\ud7ff]/;
const NULL = /^(?:null|Null|NULL)$/;
// What YAML or the other readers do not take for an ordinary key.
const RESERVED = /^(?:__proto__|constructor|prototype|null|Null|NULL|true|True|TRUE|false|False|FALSE)$/;
const INNER_KEY = /^[A-Za-z_][\w-]{0,63}$/;

export function readPlainHead(bytes: Buffer): PlainHead | null {
  if (!startsWith(bytes, 0, OPEN)) return null;
  let [at, seen] = [OPEN.length, 0];
  let name: string | null = null;
  let description: string | null = null;
  while (at < bytes.length && at < MAX_HEAD_BYTES) {
    if (bytes[at] === NEWLINE) {
      at++;
      continue;
    }
    if (bytes[at] === DASH) {
      if (name === null || description === null || !startsWith(bytes, at, OPEN)) return null;
      return { name, description };
    }
    const key = keyAt(bytes, at);
    if (key === -1 || (seen & (1 << key)) !== 0) return null;
    seen |= 1 << key;
    at += KEYS[key]?.length ?? 0;
    if (key === METADATA && bytes[at] === NEWLINE) at = endOfMap(bytes, at + 1);
    else {
      at = skipSpaces(bytes, at);
      const wanted = key === NAME || key === DESCRIPTION;
      const end = endOfValue(bytes, at);
      if (end === -1) return null;
      if (wanted) {
        const text = textOf(bytes, at, end);
        if (text === null) return null;
        if (key === NAME) name = text;
        else description = text;
      }
      at = end + 1;
    }
    if (at <= 0) return null;
  }
  return null;
}

function startsWith(bytes: Buffer, at: number, word: Buffer): boolean {
  for (let index = 0; index < word.length; index++) if (bytes[at + index] !== word[index]) return false;
  return true;
}

function keyAt(bytes: Buffer, at: number): number {
  for (let key = 0; key < KEYS.length; key++) if (startsWith(bytes, at, KEYS[key] ?? OPEN)) return key;
  return -1;
}

/** Past at least one space; where there is none, to a byte that no value starts with. */
function skipSpaces(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  return at === from ? bytes.length : at;
}

/** Where the line ends on which a value ends that starts at `at`; -1 when it is not plain enough. */
function endOfValue(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first === DOUBLE || first === SINGLE) return endOfQuoted(bytes, at, first);
  if (first === GREATER || first === BAR) return endOfBlock(bytes, at);
  return endOfPlain(bytes, at);
}

function endOfQuoted(bytes: Buffer, from: number, mark: number): number {
  for (let at = from + 1, bits = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === mark) return bytes[at + 1] === NEWLINE && isUsual(bytes, from, at, bits) ? at + 1 : -1;
    if (byte < SPACE || byte === BACKSLASH || byte === DELETE) return -1;
    bits |= byte;
  }
  return -1;
}

/** No mapping, comment or key without a value in it, and no space at its end. */
function endOfPlain(bytes: Buffer, from: number): number {
  for (let at = from, before = 0, bits = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === NEWLINE) {
      const whole = before !== 0 && before !== SPACE && before !== COLON;
      return whole && startsWord(bytes, from) && isUsual(bytes, from, at, bits) ? at : -1;
    }
    if (byte < SPACE || byte === DELETE) return -1;
    if ((byte === SPACE && before === COLON) || (byte === HASH && before === SPACE)) return -1;
    before = byte;
    bits |= byte;
  }
  return -1;
}

/** `>` or `|`, perhaps with `-`, and lines below it that all have one indentation; none of them is blank. */
function endOfBlock(bytes: Buffer, from: number): number {
  const mark = bytes[from + 1] === DASH ? from + 2 : from + 1;
  if (bytes[mark] !== NEWLINE) return -1;
  const indent = skipSpaces(bytes, mark + 1) - mark - 1;
  let end = mark;
  while (bytes[end + 1] === SPACE) {
    end = endOfIndented(bytes, end + 1, indent);
    if (end === -1) return -1;
  }
  // A blank line may end the block or belong to it.
  return end === mark || bytes[end + 1] === NEWLINE || !isUsual(bytes, from, end, 0x80) ? -1 : end;
}

function endOfIndented(bytes: Buffer, from: number, indent: number): number {
  for (let at = from; at < from + indent; at++) if (bytes[at] !== SPACE) return -1;
  if ((bytes[from + indent] ?? 0) <= SPACE) return -1;
  for (let at = from + indent; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === NEWLINE) return bytes[at - 1] === SPACE ? -1 : at;
    if (byte < SPACE || byte === DELETE) return -1;
  }
  return -1;
}

/** A mapping of words to quoted or plain values, all at one indentation: the start of the line after it. */
function endOfMap(bytes: Buffer, from: number): number {
  const indent = skipSpaces(bytes, from) - from;
  const keys: string[] = [];
  let at = from;
  while (bytes[at] === SPACE) {
    for (let space = at; space < at + indent; space++) if (bytes[space] !== SPACE) return -1;
    const colon = bytes.indexOf(COLON, at);
    if (colon === -1 || colon - at > indent + 64) return -1;
    const key = bytes.toString('latin1', at + indent, colon);
    if (!INNER_KEY.test(key) || RESERVED.test(key) || keys.includes(key)) return -1;
    keys.push(key);
    const value = skipSpaces(bytes, colon + 1);
    const first = bytes[value] ?? 0;
    const end = first === GREATER || first === BAR ? -1 : endOfValue(bytes, value);
    if (end === -1) return -1;
    at = end + 1;
  }
  return keys.length === 0 ? -1 : at;
}

function startsWord(bytes: Buffer, at: number): boolean {
  const byte = bytes[at] ?? 0;
  if (byte < 0x80) return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
  return WORD_START.test(bytes.toString('utf8', at, Math.min(at + 4, bytes.length)));
}

/** `bits`: all that any byte of it has; without the highest there is nothing to look for. */
function isUsual(bytes: Buffer, from: number, to: number, bits: number): boolean {
  return (bits & 0x80) === 0 || !ODD.test(bytes.toString('utf8', from, to));
}

/** The text of a value that is known to be plain enough; null when there is none. */
function textOf(bytes: Buffer, at: number, end: number): string | null {
  const first = bytes[at];
  if (first === DOUBLE || first === SINGLE) return bytes.toString('utf8', at + 1, end - 1).trim() || null;
  const text = bytes.toString('utf8', at, end);
  if (first === GREATER || first === BAR) {
    const lines = text.split('\n').slice(1);
    return lines.map(line => line.trim()).join(first === BAR ? '\n' : ' ');
  }
  return NULL.test(text) ? null : text;
}
