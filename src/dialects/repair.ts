import type { Edit } from '../skill/index.ts';
import { parseQuickYaml } from './quick-yaml.ts';
import {
  type Chunk,
  dedent,
  isBlockHeader,
  type Line,
  linesOf,
  type Problem,
  quote,
  type Report,
  splitChunks,
} from './repair-lines.ts';
import { parseYaml, type YamlEntry, type YamlNode, type YamlProblem } from './yaml.ts';

/**
 * X-05: reads frontmatter that is not YAML the way its author meant it. Line-oriented: the text is cut into top-level
 * entries, each is parsed on its own, and only those that fail are repaired. Every repair is a problem that quotes the
 * line; where the repair is mere quoting or spacing it carries the edit that `lint --fix` applies.
 */

export type RepairResult = { entries: YamlEntry[]; repaired: Set<string>; problems: Problem[] };

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
// X-11: no edit is offered that would turn a doubtful wish for power into a plain one.
const POWER =
  /^(?:allowed[-_]tools|network|capabilities|always_ask|read_only|resources|timeout|image|container_\w+|hooks)$/;
// Their value is text, whatever it looks like.
const TEXT_FIELDS = new Set(['name', 'description', 'license', 'compatibility', 'argument-hint', 'when_to_use']);
const MAX_NESTING = 4;
// Past these nobody can say what was meant, and every attempt costs time.
const MAX_CHUNKS = 2000;
const MAX_REPAIRS = 200;
/** A longer value is not laid out anew; it is read as the text that it is. */
const MAX_ATTEMPT = 16 * 1024;

/** No entries at all means that the text is beyond repair. */
export function repairYaml(text: string, base: number): RepairResult {
  return repairLines(linesOf(text, base), 0);
}

/** Whether `&name` stands where YAML reads an anchor; without one, `*word` is Markdown or a wildcard, not an alias. */
export function hasAnchor(text: string): boolean {
  return /(?:^|[\s,[{])&[^\s,[\]{}]/.test(text);
}

function repairLines(lines: readonly Line[], depth: number): RepairResult {
  const problems: Problem[] = [];
  const entries = new Map<string, YamlEntry>();
  const repaired = new Set<string>();
  const { chunks, conflict } = splitChunks(lines, problems);
  let repairs = chunks.length > MAX_CHUNKS ? Infinity : 0;
  for (const chunk of chunks) {
    if (repairs > MAX_REPAIRS) return { entries: [], repaired, problems };
    const { key, keyAt } = chunk;
    if (FORBIDDEN_KEYS.has(key))
      problems.push({ code: 'yaml-forbidden-key', at: keyAt, message: `the key ${key} is refused` });
    const { node, touched } = readChunk(chunk, problems, depth);
    if (entries.delete(key)) {
      problems.push({ code: 'yaml-duplicate-key', at: keyAt, message: `"${key}" is given twice; the last one counts` });
    }
    entries.set(key, { key, keyAt, node });
    if (touched) repairs++;
    if (touched || conflict) repaired.add(key);
  }
  return { entries: [...entries.values()], repaired, problems };
}

function readChunk(chunk: Chunk, problems: Problem[], depth: number): { node: YamlNode; touched: boolean } {
  const { key } = chunk;
  const report: Report = (code, message, fix = null) =>
    problems.push({ code, at: placeOfFault(code, chunk), message, key, fix: POWER.test(key) ? null : fix });
  const shown = quote(`${key}: ${chunk.rest || (chunk.lines[0]?.text ?? '')}`);
  if (chunk.colon !== null) report('yaml-colon-space', `no colon with a space after it in ${shown}`, chunk.colon);

  for (const { lines, code, what } of layouts(chunk)) {
    const attempt = tryParse(chunk, lines);
    if (attempt === null || (code === 'yaml-continuation' && isMargin(chunk, attempt.node))) continue;
    problems.push(...attempt.problems);
    if (code !== null) report(code, `${what} ${shown}`, code === 'yaml-tab' ? withoutTabs(chunk) : null);
    return { node: attempt.node, touched: code !== null || chunk.colon !== null };
  }
  const nested = depth < MAX_NESTING ? readNested(chunk, problems, depth) : null;
  if (nested !== null && hasTabs(chunk)) report('yaml-tab', `a tab indents ${shown}`);
  return { node: nested ?? readAsText(chunk, report, shown), touched: true };
}

/** The line that is laid out wrongly, where the fault is one of layout; else the value. */
function placeOfFault(code: Problem['code'], chunk: Chunk): number {
  const fault = chunk.lines.find(line =>
    code === 'yaml-tab'
      ? line.indent.includes('\t')
      : code === 'yaml-continuation' && line.indent === '' && line.text !== '',
  );
  return fault === undefined ? chunk.restAt : fault.at - fault.indent.length;
}

type Layout = { lines: string[]; code: 'yaml-tab' | 'yaml-continuation' | null; what: string };

/** The lines below the key as they stand, without tabs, and indented: what is laid out differently says the same. */
function* layouts(chunk: Chunk): Generator<Layout> {
  yield { lines: chunk.lines.map(line => line.indent + line.text), code: null, what: '' };
  const untabbed = chunk.lines.map(line => spaces(line.indent) + line.text);
  if (hasTabs(chunk)) yield { lines: untabbed, code: 'yaml-tab', what: 'a tab indents' };
  if (chunk.lines.some(line => line.indent === '' && line.text !== '')) {
    const lines = untabbed.map(text => (text.trim() === '' ? '' : `  ${text}`));
    yield { lines, code: 'yaml-continuation', what: 'an unindented line continues' };
  }
}

function hasTabs(chunk: Chunk): boolean {
  return chunk.lines.some(line => line.indent.includes('\t'));
}

/** The edit that writes spaces for tabs; null where the lines do not follow one another just so, as with other line ends. */
function withoutTabs({ lines }: Chunk): Edit | null {
  const isTabbed = (line: Line) => line.indent.includes('\t');
  const part = lines.slice(lines.findIndex(isTabbed), lines.findLastIndex(isTabbed) + 1);
  const [first, last] = [part[0], part.at(-1)];
  if (first === undefined || last === undefined) return null;
  const follow = part.every((line, at) => {
    const next = part[at + 1];
    return next === undefined || line.at + line.text.length + 1 === next.at - next.indent.length;
  });
  if (!follow) return null;
  const text = part.map(line => spaces(line.indent) + line.text).join('\n');
  return { start: first.at - first.indent.length, end: last.at + last.text.length, text };
}

function spaces(indent: string): string {
  return indent.replaceAll('\t', '  ');
}

/** `key:` with prose below it at the margin is text, even where indenting it makes a mapping. */
function isMargin(chunk: Chunk, node: YamlNode): boolean {
  const first = chunk.lines.find(line => line.text !== '')?.text ?? '';
  return node.kind !== 'scalar' && chunk.rest === '' && !/^[[{]/.test(first);
}

type Parsed = { node: YamlNode; problems: YamlProblem[] };

function tryParse(chunk: Chunk, lines: readonly string[]): Parsed | null {
  if (lines.length === 0) {
    const quick = parseQuickYaml(`k: ${chunk.rest}`, chunk.restAt - 3);
    if (quick?.[0] !== undefined) return { node: quick[0].node, problems: [] };
  }
  // With the last newline: at the very end of its text the library takes an open quote for a closed one.
  const text = `${[`k: ${chunk.rest}`, ...lines].join('\n')}\n`;
  if (text.length > MAX_ATTEMPT) return null;
  const result = parseYaml(text, 0);
  const entry = result.node?.kind === 'map' && result.node.entries.length === 1 ? result.node.entries[0] : undefined;
  if (entry === undefined) return null;
  if (result.problems.some(problem => problem.code === 'yaml-alias') && !hasAnchor(text)) return null;
  const place = placer(chunk, lines);
  return {
    node: moved(entry.node, place),
    problems: result.problems.map(problem => ({ ...problem, at: place(problem.at) })),
  };
}

/** From an offset in the text that was parsed to one in the file. */
function placer(chunk: Chunk, lines: readonly string[]): (offset: number) => number {
  const starts = [0];
  let next = chunk.rest.length + 4;
  for (const line of lines) {
    starts.push(next);
    next += line.length + 1;
  }
  return offset => {
    let low = 0;
    for (let high = starts.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const line = chunk.lines[low - 1];
    if (line === undefined) return chunk.restAt + Math.min(chunk.rest.length, Math.max(0, offset - 3));
    const indent = (lines[low - 1]?.length ?? 0) - line.text.length;
    return line.at + Math.min(line.text.length, Math.max(0, offset - (starts[low] ?? 0) - indent));
  };
}

function moved(node: YamlNode, place: (offset: number) => number): YamlNode {
  const at = place(node.at);
  const end = place(node.end);
  if (node.kind === 'scalar') return { ...node, at, end };
  if (node.kind === 'list') return { ...node, at, end, items: node.items.map(item => moved(item, place)) };
  const entries = node.entries.map(entry => ({ ...entry, keyAt: place(entry.keyAt), node: moved(entry.node, place) }));
  return { ...node, at, end, entries };
}

/** `metadata:` with one bad line among its children: the children are repaired like the top level. */
function readNested(chunk: Chunk, problems: Problem[], depth: number): YamlNode | null {
  const first = chunk.lines.find(line => line.text !== '');
  const last = chunk.lines.findLast(line => line.text !== '');
  if (chunk.rest !== '' || first === undefined || last === undefined || TEXT_FIELDS.has(chunk.key)) return null;
  if (first.indent === '' || !/^[\w"'][^:]*:(?:\s|$)/.test(first.text)) return null;
  const inner = repairLines(dedent(chunk.lines.map(line => ({ ...line, indent: spaces(line.indent) }))), depth + 1);
  if (inner.entries.length === 0) return null;
  for (const problem of inner.problems) {
    problems.push({ ...problem, key: chunk.key, fix: POWER.test(chunk.key) ? null : (problem.fix ?? null) });
  }
  return { kind: 'map', entries: inner.entries, at: first.at, end: last.at + last.text.length };
}

/** The last resort: the value is the text that stands there. */
function readAsText(chunk: Chunk, report: Report, shown: string): YamlNode {
  const rest = chunk.rest.trim();
  const block = /^[|>]/.test(rest);
  const lines = chunk.lines.filter(line => line.text !== '' && (block || !line.text.startsWith('#')));
  const more = lines.map(line => line.text.trim());
  const whole = [rest, ...more].filter(text => text !== '').join(' ');
  const last = lines.at(-1);
  const end = last === undefined ? chunk.restAt + chunk.rest.length : last.at + last.text.length;
  const scalar = (value: string): YamlNode => ({
    kind: 'scalar',
    value,
    text: value,
    plain: true,
    at: chunk.restAt,
    end,
  });
  const quoted = (value: string): Edit | null =>
    more.length > 0
      ? null
      : { start: chunk.restAt, end: chunk.restAt + chunk.rest.trimEnd().length, text: JSON.stringify(value) };

  if (block) {
    const value = [rest.replace(/^[|>][+-]?\d?[+-]?[ \t]*/, ''), ...more].filter(text => text !== '').join(' ');
    if (isBlockHeader(rest)) report('yaml-continuation', `unindented lines continue ${shown}`);
    else report('yaml-block-text', `text follows the block indicator in ${shown}`, quoted(value));
    return scalar(value);
  }
  const mark = rest[0] ?? '';
  if (mark === '"' || mark === "'") {
    const value = unquoted(whole, mark);
    report('yaml-unbalanced-flow', `the quotes do not balance in ${shown}`, quoted(value));
    return scalar(value);
  }
  if ((mark === '[' || mark === '{') && !balanced(rest)) {
    report('yaml-unbalanced-flow', `the brackets do not balance in ${shown}`);
    return scalar(whole);
  }
  if (/^[@`*&!%,[\]{}?#-]/.test(rest)) {
    report('yaml-reserved-indicator', `"${mark}" starts the value in ${shown}`, quoted(whole));
    return scalar(whole);
  }
  if (/:(?:\s|$)/.test(whole))
    report('yaml-unquoted-colon', `a colon in the unquoted value of ${shown}`, quoted(whole));
  else report('yaml-field-invalid', `cannot read ${shown}; its text is kept`, quoted(whole));
  return scalar(whole);
}

/** Without the quotes around it, where they are around it; inside, `\"` and `\'` are quotes as in other languages. */
function unquoted(text: string, mark: string): string {
  const closed = text.length > 1 && text.endsWith(mark);
  if (!closed && text.indexOf(mark, 1) !== -1) return text;
  return text
    .slice(1, closed ? -1 : undefined)
    .replace(/\\(["'])/g, '$1')
    .trim();
}

function balanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '[' || character === '{') depth++;
    if (character === ']' || character === '}') depth--;
    if (depth < 0) return false;
  }
  return depth === 0;
}
