import type { Env, MarkdownIt, StateInline, Token } from 'markdown-it';
import { markdownLibrary } from './libraries.ts';

/** The one place that touches markdown-it. Everything here ends quickly whatever it is given. */

export type BlockToken = Token;

export type Blocks = {
  tokens: BlockToken[];
  /** Link reference definitions by their normalised label. */
  references: NonNullable<Env['references']>;
  /** The text as it was parsed, by line. */
  lines: string[];
  /** False when the text was too heavy to be read to its end. */
  complete: boolean;
};

/** A heading at the top level, plain and as written, and the tokens under it: `from` to, not including, `to`. */
export type Section = { level: number; text: string; source: string; line: number; from: number; to: number };

/** Line and column count from 1 and mark the opening bracket. The target is as written, with escapes resolved. */
export type Link = { target: string; line: number; column: number };

// The block phase is linear, yet half a million short lines cost it seconds: each quote or list around a line costs the
// line once more, and each table cell costs three tokens. So what is bounded is what costs: lines, the marks of cells
// and quotes, and depth. Of 1,247 published SKILL.md files the longest has 2,738 lines.
const MAX_LINES = 20_000;
const MARKS_PER_LINE = 5;
const MAX_NESTING = 20;

// Links are looked for in one inline block at a time; no rule of markdown-it is worse than quadratic in it.
const MAX_INLINE_CHARS = 16 * 1024;
const MAX_INLINE_TOTAL = 256 * 1024;
const MAX_PLAIN_CHARS = 1024;

let shared: MarkdownIt | null = null;

function newParser(options: { maxNesting?: number }): MarkdownIt {
  const Parser = markdownLibrary();
  return new Parser('commonmark', options);
}

function parser(): MarkdownIt {
  shared ??= withRawLinks(newParser({ maxNesting: MAX_NESTING }).enable('table'));
  return shared;
}

/** Block structure only: no inline phase, so no emphasis to blow up. */
export function parseBlocks(text: string): Blocks {
  const normal = text.replace(/\r\n?/g, '\n').replace(/\0/g, '\ufffd');
  const end = affordableEnd(normal);
  const source = end === normal.length ? normal : normal.slice(0, end);
  const tokens: BlockToken[] = [];
  const references: Blocks['references'] = Object.create(null);
  const markdown = parser();
  markdown.block.parse(source, markdown, { references }, tokens);
  return { tokens, references, lines: source.split('\n'), complete: end === normal.length };
}

/** The start of the line that exceeds what is read, or the end of the text. */
function affordableEnd(text: string): number {
  let budget = MAX_LINES * MARKS_PER_LINE;
  let lineStart = 0;
  for (const { index, 0: mark } of text.matchAll(/[\n|>]/g)) {
    budget -= mark === '\n' ? MARKS_PER_LINE : 1;
    if (budget < 0) return lineStart;
    if (mark === '\n') lineStart = index + 1;
  }
  return text.length;
}

/** Headings inside lists, quotes and fences are not sections. */
export function sectionsOf(tokens: readonly BlockToken[]): Section[] {
  const sections: Section[] = [];
  const open: Section[] = [];
  tokens.forEach((token, index) => {
    if (token.type !== 'heading_open' || token.level !== 0) return;
    const level = Number(token.tag.slice(1));
    for (let last = open.at(-1); last !== undefined && last.level >= level; last = open.at(-1)) {
      last.to = index;
      open.pop();
    }
    const source = tokens[index + 1]?.content ?? '';
    const line = (token.map?.[0] ?? 0) + 1;
    const section = { level, text: plainText(source), source, line, from: index + 3, to: tokens.length };
    sections.push(section);
    open.push(section);
  });
  return sections;
}

/** Inline Markdown without its marks: `` `name` `` and `**name**` are `name`. */
export function plainText(content: string): string {
  if (content.length > MAX_PLAIN_CHARS || !/[*_`\\<[&!]/.test(content)) return content.trim();
  const tokens: Token[] = [];
  const markdown = parser();
  markdown.inline.parse(content, markdown, {}, tokens);
  const texts = tokens.map(token => (token.type === 'softbreak' || token.type === 'hardbreak' ? ' ' : token.content));
  return texts.join('').trim();
}

/**
 * Destinations of inline links, images and reference definitions, in the order of the text; none inside code.
 * `complete` is false when something was too large or too deep to be looked at.
 */
export function linksOf(text: string): { links: Link[]; complete: boolean } {
  const { tokens, references, lines, complete: readToEnd } = parseBlocks(text);
  const links: Link[] = [];
  const defined = new Set<string>();
  let complete = readToEnd;
  let remaining = MAX_INLINE_TOTAL;
  let row = { line: 0, column: 0 };
  for (const token of tokens) {
    if (token.type === 'tr_open') row = { line: token.map?.[0] ?? 0, column: 0 };
    // markdown-it drops what a container holds beyond the depth it follows.
    if (token.nesting === 1 && token.level >= MAX_NESTING - 1 && token.type !== 'paragraph_open') complete = false;
    if (token.type === 'reference_definition') {
      const label = String(token.meta?.label);
      const line = token.map?.[0] ?? 0;
      const target = references[label]?.href;
      if (target === undefined || defined.has(label)) continue;
      defined.add(label);
      links.push({ target, line: line + 1, column: Math.max(0, lines[line]?.indexOf('[') ?? 0) + 1 });
    }
    if (token.type !== 'inline' || !token.content.includes('](')) continue;
    if (token.content.length > MAX_INLINE_CHARS || token.content.length > remaining) {
      complete = false;
      continue;
    }
    remaining -= token.content.length;
    const found = inlineLinks(token.content, references);
    if (token.map !== null) links.push(...locate(found, token.content, { line: token.map[0], column: 0 }, lines));
    else {
      links.push(...locate(found, token.content, row, lines));
      // The next cell of this row is looked for behind this one, and not at all once one was not found: no search is in vain twice.
      const shift = (lines[row.line] ?? '').indexOf(token.content, row.column);
      row.column = shift === -1 ? Number.POSITIVE_INFINITY : shift + token.content.length;
    }
  }
  links.sort((a, b) => a.line - b.line || a.column - b.column);
  return { links, complete };
}

/** Inline content is the source without markers and indentation: each of its lines is found inside a source line. */
function locate(found: Found[], content: string, start: { line: number; column: number }, lines: string[]): Link[] {
  const links: Link[] = [];
  let line = start.line;
  let lineStart = 0;
  let next = 0;
  for (const text of content.split('\n')) {
    const lineEnd = lineStart + text.length;
    const shift = next < found.length ? (lines[line] ?? '').indexOf(text, start.column) : 0;
    for (let link = found[next]; link !== undefined && link.at <= lineEnd; link = found[++next]) {
      links.push({ target: link.target, line: line + 1, column: shift === -1 ? 1 : shift + link.at - lineStart + 1 });
    }
    line++;
    lineStart = lineEnd + 1;
  }
  return links;
}

type Found = { target: string; at: number };
type InlineRule = (state: StateInline, silent: boolean) => boolean;

const collectors = new WeakMap<Env, { content: string; found: Found[] }>();
let linkShared: MarkdownIt | null = null;

function inlineLinks(content: string, references: Blocks['references']): Found[] {
  const env: Env = { references };
  const collector = { content, found: [] as Found[] };
  collectors.set(env, collector);
  linkShared ??= createLinkParser();
  linkShared.inline.parse(content, linkShared, env, []);
  return collector.found.sort((a, b) => a.at - b.at);
}

/** Only the rules that decide what is a link and what is code; the two that find links also note where. */
function createLinkParser(): MarkdownIt {
  const plain = newParser({});
  plain.inline.ruler.enableOnly(['link', 'image']);
  const [link, image] = plain.inline.ruler.getRules('');
  const markdown = withRawLinks(newParser({ maxNesting: MAX_NESTING }));
  const rules = ['text', 'newline', 'escape', 'backticks', 'link', 'image', 'autolink', 'html_inline'];
  if (link !== undefined) markdown.inline.ruler.at('link', noting(link));
  if (image !== undefined) markdown.inline.ruler.at('image', noting(image));
  markdown.inline.ruler.enableOnly(rules);
  markdown.inline.ruler2.enableOnly([]);
  return markdown;
}

function noting(rule: InlineRule): InlineRule {
  return (state, silent) => {
    const at = state.pos;
    const first = state.tokens.length;
    const matched = rule(state, silent);
    const collector = collectors.get(state.env);
    // The text of an image is parsed on its own, as another source: what it holds is not a link.
    if (!matched || silent || collector === undefined || state.src !== collector.content) return matched;
    const token = state.tokens.slice(first, first + 2).find(made => made.type === 'link_open' || made.type === 'image');
    const target = token?.attrGet(token.type === 'image' ? 'src' : 'href');
    // A token with a label refers to a definition, which is listed itself.
    if (typeof target === 'string' && token?.meta?.label === undefined) collector.found.push({ target, at });
    return matched;
  };
}

/** Targets stay as written: percent-encoding would hide file names, and a refused scheme would hide the link. */
function withRawLinks(markdown: MarkdownIt): MarkdownIt {
  markdown.normalizeLink = url => url;
  markdown.validateLink = () => true;
  return markdown;
}
