import type { DiagnosticCode } from '../skill/index.ts';

export type FenceProblem = { code: DiagnosticCode; at: number; message: string };
/** Where the frontmatter and the body lie in the text of SKILL.md; offsets of the text between the two `---` lines. */
export type Fences = {
  start: number;
  end: number;
  bodyAt: number;
  problems: FenceProblem[];
};
export type FenceResult = Fences | { missing: FenceProblem };

const EXACT_OPEN = /^---[ \t]*\r?(?:\n|$)/;
const LOOSE_OPEN = /^[ \t]*(?:-{3,}[ \t]*(?:ya?ml)?(?:[ \t]+#[^\n]*)?|\u2014|\u2013{2,3})[ \t]*\r?(?:\n|$)/i;
const GLUED_OPEN = /^---(?=(?:name|description)[ \t]*[:\uFF1A])/;
const OTHER_LANGUAGE = /^(?:---[ \t]*[A-Za-z;{][^\n]*|\+{3}[ \t]*|;{3}[ \t]*)\r?(?:\n|$)/;
const CODE_OPEN = /^`{3,}[ \t]*(?:ya?ml)?[ \t]*\r?\n/i;
// Nothing that a reader would see: blank lines, comments, and the characters that editors leave behind.
const LEADING = /^(?:[\s\u200b\u2060\ufeff]|<!--[\s\S]*?-->)+/;
// A field that only a skill's frontmatter starts with, after comments and blank lines.
const SKILL_FIELD = /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:name|description)[ \t]*[:\uFF1A]/;
// What a Markdown formatter makes of `name: x`, `---`: the closing line is taken for the underline of a heading.
const HEADING_FIELD = /^(?:[ \t]*\r?\n)*#{1,6}[ \t]+(?=name[ \t]*:)/;
// Lines end at \n alone: with the flag m, ^ and $ would also match at U+2028 and at a lone carriage return.
const FENCE_LINE = /(?<=^|\n)---(?:[ \t]*\r?\n|(?=name[ \t]*[:\uFF1A]))/g;
const CLOSE = /(?<=^|\n)(-{3,}|\.{3})[ \t]*\r?(?=\n|$)/g;
const LOOSE_CLOSE = /(?<=^|\n)(?:[ \t]+-{3,}[ \t]*\r?(?=\n|$)|---|[\u2014\u2013]{1,3}[ \t]*\r?(?=\n|$))/g;
const CODE_CLOSE = /(?<=^|\n)`{3,}[ \t]*\r?(?=\n|$)/g;
const FIELD_LINE = /^[A-Za-z_][\w-]*[ \t]*[:\uFF1A]/;
const HEADING_LINE = /^#{1,6} /;
const SEARCH_WINDOW = 8192;

/** Finds the frontmatter; what a strict client would not accept is a problem, not a failure. `text` has no BOM. */
export function findFences(text: string): FenceResult {
  const opened = openAt(text, 0);
  if (opened !== null) return opened;
  const leading = sizeOf(LEADING, text, 0);
  if (leading > 0) {
    const below = openAt(text, leading);
    if (below !== null && !('missing' in below)) return precededBy(below, leading);
  }
  const later = findLater(text);
  if (later !== null) return later;
  if (sizeOf(SKILL_FIELD, text, 0) > 0 && (nextMatch(CLOSE, text, 0)?.index ?? Infinity) < SEARCH_WINDOW) {
    const message = 'the fields are not opened by a line `---`';
    return close(text, 0, [{ code: 'frontmatter-unopened', at: 0, message }]);
  }
  return { missing: { code: 'frontmatter-missing', at: 0, message: 'SKILL.md has no frontmatter' } };
}

/** A second block right below one that names no skill: some tools put their own frontmatter above the author's. */
export function findSecondFences(text: string, first: Fences): Fences | null {
  const at = first.bodyAt + sizeOf(LEADING, text, first.bodyAt);
  const second = openAt(text, at);
  return second === null || 'missing' in second ? null : precededBy(second, at);
}

/**
 * The closing line may belong to the body: a rule in a file whose frontmatter was never closed. Where a heading and
 * prose stand between the fields and that line, this is where the fields end.
 */
export function cutAtBody(text: string, fences: Fences): Fences | null {
  const end = endOfFields(text, fences.start, fences.end);
  if (end >= fences.end || !HEADING_LINE.test(text.slice(end, end + 8)) || !hasProse(text.slice(end, fences.end)))
    return null;
  return { ...fences, end, bodyAt: end, problems: [...fences.problems, unclosed(fences.start)] };
}

function openAt(text: string, at: number): FenceResult | null {
  const exact = sizeOf(EXACT_OPEN, text, at);
  if (exact > 0) return close(text, at + exact, []);
  const loose = sizeOf(LOOSE_OPEN, text, at) || sizeOf(GLUED_OPEN, text, at);
  if (loose > 0) return close(text, at + loose, [oddOpening(text, at)]);
  const other = sizeOf(OTHER_LANGUAGE, text, at);
  if (other > 0) {
    // The word is no language when the fields of a skill follow it; they are read as YAML and nothing else.
    if (text[at] === '-' && sizeOf(SKILL_FIELD, text, at + other) > 0)
      return close(text, at + other, [oddOpening(text, at)]);
    const message = `"${lineAt(text, at).slice(0, 40)}" opens frontmatter that is not YAML`;
    return { missing: { code: 'frontmatter-language', at, message } };
  }
  const code = sizeOf(CODE_OPEN, text, at);
  if (code === 0 || sizeOf(SKILL_FIELD, text, at + code) === 0) return null;
  const end = nextMatch(CODE_CLOSE, text, at + code);
  if (end === null) return null;
  return { start: at + code, end: end.index, bodyAt: lineEnd(text, end.index), problems: [oddOpening(text, at)] };
}

/** Something else first, but then plainly the frontmatter of a skill. */
function findLater(text: string): FenceResult | null {
  for (const match of text.slice(0, SEARCH_WINDOW).matchAll(FENCE_LINE)) {
    const start = match.index + match[0].length;
    if (sizeOf(SKILL_FIELD, text, start) === 0) continue;
    const found = close(text, start, []);
    return 'missing' in found ? found : precededBy(found, match.index);
  }
  return null;
}

function close(text: string, start: number, problems: FenceProblem[]): FenceResult {
  const heading = sizeOf(HEADING_FIELD, text, start);
  if (heading > 0) return closeHeading(text, start + heading, problems);
  const exact = nextMatch(CLOSE, text, start);
  if (exact !== null) {
    if (exact[1] !== '---') problems.push(oddClosing(text, exact.index));
    return { start, end: exact.index, bodyAt: lineEnd(text, exact.index), problems };
  }
  const loose = nextMatch(LOOSE_CLOSE, text, start);
  if (loose !== null) {
    problems.push(oddClosing(text, loose.index));
    return { start, end: loose.index, bodyAt: lineEnd(text, loose.index), problems };
  }
  const end = endOfFields(text, start, text.length);
  problems.push(unclosed(start));
  return { start, end, bodyAt: end, problems };
}

function closeHeading(text: string, start: number, problems: FenceProblem[]): Fences {
  const rule = nextMatch(CLOSE, text, start)?.index ?? text.length;
  const end = endOfFields(text, start, rule);
  const message = `the closing line \`---\` is missing and \`${lineAt(text, start).slice(0, 60)}\` is a heading`;
  problems.push({ code: 'frontmatter-unclosed', at: start, message });
  return { start, end, bodyAt: end === rule ? lineEnd(text, rule) : end, problems };
}

/** Without a closing line the fields end at the first heading, or at a blank line that no field follows. */
function endOfFields(text: string, start: number, limit: number): number {
  let position = start;
  let seenField = false;
  while (position < limit) {
    const next = lineEnd(text, position);
    const line = text.slice(position, Math.min(next, position + 200)).trimEnd();
    if (HEADING_LINE.test(line) && seenField) return position;
    if (
      line === '' &&
      seenField &&
      !/^(?:[A-Za-z_][\w-]*[ \t]*[:\uFF1A]|[ \t]+\S|[ \t]*\r?\n|#)/.test(text.slice(next, next + 200))
    )
      return position;
    if (FIELD_LINE.test(line)) seenField = true;
    position = next;
  }
  return limit;
}

/** A line that can stand in a Markdown body but not in a mapping. */
function hasProse(text: string): boolean {
  return text.split('\n').some(line => /^[^\s#<>=-]/.test(line) && !FIELD_LINE.test(line));
}

function precededBy(fences: Fences, at: number): Fences {
  const message = 'the frontmatter does not start on the first line';
  return { ...fences, problems: [{ code: 'frontmatter-preceded', at, message }, ...fences.problems] };
}

function oddOpening(text: string, at: number): FenceProblem {
  return { code: 'frontmatter-fence', at, message: `the frontmatter opens with "${lineAt(text, at).slice(0, 40)}"` };
}

function oddClosing(text: string, at: number): FenceProblem {
  return { code: 'frontmatter-fence', at, message: `the frontmatter closes with "${lineAt(text, at).slice(0, 20)}"` };
}

function unclosed(at: number): FenceProblem {
  return { code: 'frontmatter-unclosed', at, message: 'the frontmatter is never closed by a line `---`' };
}

/** How many characters the expression takes at this offset; 0 when it does not match there. */
function sizeOf(anchored: RegExp, text: string, at: number): number {
  return anchored.exec(text.slice(at, at + SEARCH_WINDOW))?.[0].length ?? 0;
}

function nextMatch(global: RegExp, text: string, from: number): RegExpExecArray | null {
  global.lastIndex = from;
  return global.exec(text);
}

function lineAt(text: string, at: number): string {
  return text.slice(at, Math.min(lineEnd(text, at), at + 200)).trim();
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline === -1 ? text.length : newline + 1;
}
