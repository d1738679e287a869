import type { DiagnosticCode, Edit } from '../skill/index.ts';
import type { YamlProblem } from './yaml.ts';

/** The cutting half of repair: lines, and the top-level entries that they belong to. */

/** A line without its indentation; `at` is the offset of its text in the file. */
export type Line = { indent: string; text: string; at: number };
export type Chunk = {
  key: string;
  keyAt: number;
  /** What stands behind the colon. */
  rest: string;
  restAt: number;
  lines: Line[];
  /** Its quotes or brackets close: nothing at the margin can belong to it any more. */
  closed: boolean;
  /** Null, or the edit that writes the colon and the space that are missing. */
  colon: Edit | null;
};
export type Problem = YamlProblem & { key?: string; fix?: Edit | null };

const KEY = /^(?:([A-Za-z_][\w. -]{0,63}?)|"([^"\n]{1,64})"|'([^'\n]{1,64})')[ \t]*:(?:[ \t]+|$)/;
// Below a description that would be prose; below anything else it is a field with an odd name.
const ODD_KEY = /^([^\s"'#&*!|>%@`,[\]{}:?-](?:(?!\s#)[^\n]){0,63}?)[ \t]*:(?:[ \t]+|$)/;
// Only where nothing else can be meant: a field of a skill, a colon of some kind, and no ordinary space.
const KEY_WITHOUT_SPACE =
  /^(name|description|version|license|author|tags|metadata|homepage|allowed-tools)[ \t]*([:\uFF1A][\s\u3000]*)(?=\S)/;
const TWO_FIELDS = /^([\w.-]+)([ \t]+)(?=description:[ \t])/;
const CONFLICT = /^(?:<{7}|={7}|>{7})(?: |$)/;
const BLOCK_HEADER = /^[|>][+-]?\d?[+-]?[ \t]*(?:#.*)?$/;
const KNOWN = new Set([
  'name',
  'description',
  'version',
  'license',
  'author',
  'tags',
  'metadata',
  'allowed-tools',
  'compatibility',
]);

export function isBlockHeader(rest: string): boolean {
  return BLOCK_HEADER.test(rest);
}

export function linesOf(text: string, base: number): Line[] {
  const lines: Line[] = [];
  let at = base;
  for (const raw of text.split('\n')) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const content = line.trimStart();
    const width = line.length - content.length;
    lines.push({ indent: line.slice(0, width), text: content, at: at + width });
    at += raw.length + 1;
  }
  return dedent(lines);
}

/** Takes away the indentation that all lines share. */
export function dedent(lines: readonly Line[]): Line[] {
  let common = Infinity;
  for (const line of lines) if (line.text !== '') common = Math.min(common, /^ */.exec(line.indent)?.[0].length ?? 0);
  return lines.map(line => (common === 0 ? line : { ...line, indent: line.indent.slice(common) }));
}

export function splitChunks(lines: readonly Line[], problems: Problem[]): { chunks: Chunk[]; conflict: boolean } {
  const chunks: Chunk[] = [];
  const spans = new Spans(lines);
  let conflict = false;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index];
    if (line === undefined) break;
    const last = chunks.at(-1);
    if (line.indent === '' && CONFLICT.test(line.text)) {
      problems.push({ code: 'yaml-conflict-marker', at: line.at, message: `skipped ${quote(line.text)}` });
      conflict = true;
      continue;
    }
    const found = line.indent === '' ? fieldOf(line, last) : misplacedField(line, last, lines, problems);
    if (found !== null) {
      const span = spans.of(index, found.rest);
      found.closed = span.closed;
      found.lines.push(...lines.slice(index + 1, span.until + 1));
      chunks.push(...splitTwo(found, problems));
      index = span.until;
    } else if (last !== undefined && !(last.closed && line.indent === '' && /^[^#\s]/.test(line.text))) {
      last.lines.push(line);
    } else if (line.text !== '' && !line.text.startsWith('#')) {
      problems.push({
        code: 'yaml-field-invalid',
        at: line.at,
        message: `skipped ${quote(line.text)}, which is no field`,
      });
    }
  }
  return { chunks, conflict };
}

function fieldOf(line: Line, last: Chunk | undefined): Chunk | null {
  const odd = last !== undefined && (last.closed || (last.key !== 'description' && !isBlockHeader(last.rest)));
  const match = KEY.exec(line.text) ?? (odd ? ODD_KEY.exec(line.text) : null);
  if (match !== null) {
    const key = (match[1] ?? match[2] ?? match[3] ?? '').trim();
    const rest = line.text.slice(match[0].length);
    if (continuesText(key, rest, line, last)) return null;
    return { key, keyAt: line.at, rest, restAt: line.at + match[0].length, lines: [], closed: false, colon: null };
  }
  const glued = KEY_WITHOUT_SPACE.exec(line.text);
  if (glued?.[1] === undefined || glued[2] === undefined) return null;
  const restAt = line.at + glued[0].length;
  const colon = { start: restAt - glued[2].length, end: restAt, text: ': ' };
  return {
    key: glued[1],
    keyAt: line.at,
    rest: line.text.slice(glued[0].length),
    restAt,
    lines: [],
    closed: false,
    colon,
  };
}

/** Prose with a colon in it, below a value that it continues: `Use when: the user asks`. */
function continuesText(key: string, rest: string, line: Line, last: Chunk | undefined): boolean {
  if (last === undefined || last.closed || KNOWN.has(key.toLowerCase())) return false;
  const spoken = key.includes(' ') || rest.split(/\s+/, 3).length === 3;
  // Nothing indented below `description: >`: its lines stand at the margin until a field of one lowercase word.
  if (isBlockHeader(last.rest) && last.lines.every(below => below.indent === ''))
    return key.includes(' ') || /^[A-Z]/.test(key);
  return last.key === 'description' && spoken && /^(?:[A-Z]|(?:user|assistant):)/.test(line.text);
}

/** ` description:` one column too far to the right, below a value that is complete on its line. */
function misplacedField(
  line: Line,
  last: Chunk | undefined,
  lines: readonly Line[],
  problems: Problem[],
): Chunk | null {
  if (last === undefined || !/^(?:name|description)[ \t]*:[ \t]/.test(line.text)) return null;
  if (last.rest === '' || /^[|>"'[{]/.test(last.rest) || last.lines.some(below => below.text !== '')) return null;
  const key = line.text.startsWith('name') ? 'name' : 'description';
  if (last.key === key || lines.some(other => other.indent === '' && other.text.startsWith(`${key}:`))) return null;
  const message = `${quote(line.text)} is indented; it is read as a field`;
  problems.push({ code: 'yaml-field-invalid', at: line.at, message });
  return fieldOf(line, undefined);
}

/** `name: x description: y` on one line; a name has no spaces. */
function splitTwo(chunk: Chunk, problems: Problem[]): Chunk[] {
  const match = chunk.key === 'name' ? TWO_FIELDS.exec(chunk.rest) : null;
  if (match?.[1] === undefined) return [chunk];
  const second = fieldOf(
    { indent: '', text: chunk.rest.slice(match[0].length), at: chunk.restAt + match[0].length },
    undefined,
  );
  if (second === null) return [chunk];
  problems.push({
    code: 'yaml-field-invalid',
    at: second.keyAt,
    message: `two fields on one line in ${quote(`name: ${chunk.rest}`)}`,
  });
  return [{ ...chunk, rest: match[1] }, second];
}

/** Where quoted values and flow collections that span lines end; other clients let them stand at the margin. */
class Spans {
  readonly #lines: readonly Line[];
  /** Characters still to be looked at, so that many openings which never close cost no more than one. */
  #budget: number;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
    this.#budget = 4 * lines.reduce((sum, line) => sum + line.text.length + 1, 0);
  }

  /** The last line of the value that starts in this line; the line itself when it is whole or never closes. */
  of(index: number, rest: string): { until: number; closed: boolean } {
    const mark = rest[0];
    if (mark !== '"' && mark !== "'" && mark !== '[' && mark !== '{') return { until: index, closed: false };
    const state = { quote: '', depth: 0 };
    for (let until = index; until < this.#lines.length && this.#budget > 0; until++) {
      const text = until === index ? rest : (this.#lines[until]?.text ?? '');
      this.#budget -= text.length + 1;
      const closedAt = scan(text, state);
      if (closedAt === -1) continue;
      return /^[ \t]*(?:#.*)?$/.test(text.slice(closedAt + 1))
        ? { until, closed: true }
        : { until: index, closed: false };
    }
    return { until: index, closed: false };
  }
}

/** Follows quotes and brackets through one line; the index of the character that closes the value, or -1. */
function scan(text: string, state: { quote: string; depth: number }): number {
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    if (state.quote !== '') {
      if (character === '\\' && state.quote === '"') index++;
      else if (character === "'" && state.quote === "'" && text[index + 1] === "'") index++;
      else if (character === state.quote) {
        state.quote = '';
        if (state.depth === 0) return index;
      }
    } else if (character === '"' || character === "'") state.quote = character;
    else if (character === '[' || character === '{') state.depth++;
    else if (character === ']' || character === '}') {
      state.depth--;
      if (state.depth <= 0) return index;
    }
  }
  return -1;
}

export function quote(text: string): string {
  const line = text.trim();
  return `\`${line.length > 80 ? `${line.slice(0, 79)}…` : line}\``;
}

export type Report = (code: DiagnosticCode, message: string, fix?: Edit | null) => void;
