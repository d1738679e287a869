/** What a host says before the body of an answer. */
export type AnswerHead = {
  status: number;
  /** Names and values in turn, as they came. */
  rawHeaders: string[];
  body: BodyEnd;
  /** For so long the host keeps the connection when nothing is asked; 0: it closes it. */
  keepMs: number;
};

/** Where the body ends: after so many bytes, with its last chunk, or with the connection. */
export type BodyEnd = number | 'chunked' | 'close';

/** The host said what is no answer in HTTP, or one that two programs could read differently. */
export class AnswerFault extends Error {}

const MAX_HEAD_CHARACTERS = 64 * 1024;
const MAX_HEADERS = 1000;
/** Longer than any host is left alone here. */
const KEEP_MS = 3_600_000;
/** A host that closes after five seconds may do so a little earlier than we count. */
const MARGIN_MS = 1000;

const BEGINNING = 'HTTP/1.';
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Collects the bytes of one head. */
export class HeadReader {
  #text = '';

  /** Where the body begins, or -1 while there is more to come. */
  read(bytes: Buffer, from: number, to: number): number {
    const known = this.#text.length;
    this.#text += bytes.toString('latin1', from, Math.min(to, from + MAX_HEAD_CHARACTERS - known));
    const end = this.#text.indexOf('\r\n\r\n', Math.max(0, known - 3));
    if (end === -1) {
      if (!isBegun(this.#text)) throw new AnswerFault('its first line is none of HTTP');
      if (this.#text.length >= MAX_HEAD_CHARACTERS) throw new AnswerFault('its headers are too long');
      return -1;
    }
    this.#text = this.#text.slice(0, end);
    return from + end + 4 - known;
  }

  /** Once it is whole. */
  parse(method: string): AnswerHead {
    return parseHead(this.#text, method);
  }
}

/** All of it must be as the standard has it: what follows an answer that was read wrongly would be taken for the next. */
export function parseHead(text: string, method: string): AnswerHead {
  const lines = text.split('\r\n');
  const [, minor, code] = STATUS_LINE.exec(lines[0] ?? '') ?? [];
  if (minor === undefined) throw new AnswerFault('its first line is none of HTTP');
  if (lines.length > MAX_HEADERS) throw new AnswerFault('it has too many headers');
  const status = Number(code);
  const rawHeaders: string[] = [];
  let length: string | null = null;
  let coding: string | null = null;
  let keepMs = minor === '1' ? KEEP_MS : 0;
  for (let at = 1; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const cut = line.indexOf(':');
    const name = line.slice(0, Math.max(0, cut));
    const value = trimBlanks(line, cut + 1);
    if (!NAME.test(name) || !VALUE.test(value)) throw new AnswerFault('a header of it is none');
    rawHeaders.push(name, value);
    switch (name.length) {
      case 10:
        if (name.toLowerCase() === 'connection') keepMs = Math.min(keepMs, /\bclose\b/i.test(value) ? 0 : KEEP_MS);
        else if (name.toLowerCase() === 'keep-alive') keepMs = Math.min(keepMs, keptFor(value));
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (length !== null) throw new AnswerFault('it says its length twice');
        length = value;
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (coding !== null) throw new AnswerFault('it is coded twice');
        coding = value.toLowerCase();
        break;
    }
  }
  return { status, rawHeaders, body: bodyEnd(status, method, length, coding), keepMs };
}

function bodyEnd(status: number, method: string, length: string | null, coding: string | null): BodyEnd {
  if (length !== null && coding !== null) throw new AnswerFault('it says a length and that it has none');
  if (length !== null && !/^\d{1,15}$/.test(length)) throw new AnswerFault('its length is no number');
  if (coding !== null && coding !== 'chunked') throw new AnswerFault('it is coded as nobody asked for');
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) return 'chunked';
  return length === null ? 'close' : Number(length);
}

function keptFor(value: string): number {
  const seconds = /\btimeout=(\d{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? KEEP_MS : Math.max(0, Number(seconds) * 1000 - MARGIN_MS);
}

/** Whoever speaks something else may have said all, and wait: the run would then wait for nothing. */
function isBegun(text: string): boolean {
  const end = text.indexOf('\n');
  return BEGINNING.startsWith(text.slice(0, BEGINNING.length)) && (end === -1 || text[end - 1] === '\r');
}

/** Spaces and tabs alone: `trim` would take more. */
function trimBlanks(line: string, start: number): string {
  let [from, to] = [start, line.length];
  while (from < to && isBlank(line.charCodeAt(from))) from++;
  while (to > from && isBlank(line.charCodeAt(to - 1))) to--;
  return line.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
