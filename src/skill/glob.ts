/**
 * Patterns of `.skillboxignore`, matched by walking, never by a regular expression: a skill's author writes them,
 * and a backtracking engine would let 30 characters hang the reader. Every comparison is counted against a budget.
 */

/** Steps left for one folder; each is one comparison of a character or of a segment. */
export type Work = { left: number };

type Class = { negated: boolean; ranges: { from: number; to: number }[] };
const STAR = Symbol('*');
const ANY = Symbol('?');
type Token = string | typeof STAR | typeof ANY | Class;

const GLOBSTAR = Symbol('**');
type Segment = typeof GLOBSTAR | string | Token[];

export type Pattern = { segments: Segment[] };
/** A path taken apart once for all patterns. */
export type Subject = { text: string; points: string[] }[];

export function takeApart(path: string): Subject {
  return path.split('/').map(text => ({ text, points: Array.from(text) }));
}

/**
 * One pattern for names or paths that are not a stranger's by the thousand: without a budget, because an answer that is cut
 * short could miss what it was to find. The time grows with the product of both lengths and no faster.
 */
export function createGlob(text: string): (subject: string) => boolean {
  const pattern = compilePattern(text);
  return subject => matches(pattern, takeApart(subject.replace(/^\//, '')), { left: Number.POSITIVE_INFINITY });
}

/** `text` without the leading `!` and the trailing `/` of a rule; a slash anywhere in it binds it to the root. */
export function compilePattern(text: string): Pattern {
  const anchored = text.includes('/');
  const parts = text.replace(/^\/+/, '').split('/');
  const segments: Segment[] = anchored ? [] : [GLOBSTAR];
  for (const part of parts) {
    const segment = part === '**' ? GLOBSTAR : compileSegment(part);
    if (segment === GLOBSTAR && segments.at(-1) === GLOBSTAR) continue;
    segments.push(segment);
  }
  // `a/**` is everything inside a, not a itself.
  if (segments.at(-1) === GLOBSTAR) segments.push([STAR]);
  return { segments };
}

function compileSegment(text: string): string | Token[] {
  const points = Array.from(text);
  const tokens: Token[] = [];
  for (let at = 0; at < points.length; at++) {
    const point = points[at] ?? '';
    if (point === '*') {
      // Ten thousand stars in a row say no more than one.
      if (tokens.at(-1) !== STAR) tokens.push(STAR);
    } else if (point === '?') tokens.push(ANY);
    else if (point === '\\' && at + 1 < points.length) tokens.push(points[++at] ?? '');
    else if (point === '[') {
      const found = compileClass(points, at);
      tokens.push(found?.token ?? '[');
      at = found?.end ?? at;
    } else tokens.push(point);
  }
  return tokens.every(token => typeof token === 'string') ? tokens.join('') : tokens;
}

/** `[abc]`, `[a-z]`, `[!a]`; null when the bracket is never closed, which makes it a plain character. */
function compileClass(points: string[], open: number): { token: Class; end: number } | null {
  let at = open + 1;
  const negated = points[at] === '!' || points[at] === '^';
  if (negated) at++;
  const first = at;
  const ranges: Class['ranges'] = [];
  for (; at < points.length; at++) {
    if (points[at] === ']' && at > first) return { token: { negated, ranges }, end: at };
    if (points[at] === '\\' && at + 1 < points.length) at++;
    const from = points[at]?.codePointAt(0) ?? 0;
    const isRange = points[at + 1] === '-' && points[at + 2] !== undefined && points[at + 2] !== ']';
    if (isRange) at += 2;
    ranges.push({ from, to: points[at]?.codePointAt(0) ?? 0 });
  }
  return null;
}

export function matches(pattern: Pattern, subject: Subject, work: Work): boolean {
  return matchSequence(
    pattern.segments,
    subject,
    segment => segment === GLOBSTAR,
    (segment, name) => typeof segment !== 'symbol' && matchSegment(segment, name, work),
    work,
  );
}

function matchSegment(segment: string | Token[], name: Subject[number], work: Work): boolean {
  if (typeof segment === 'string') return segment === name.text;
  return matchSequence(
    segment,
    name.points,
    token => token === STAR,
    (token, point) => matchToken(token, point, work),
    work,
  );
}

function matchToken(token: Token, point: string, work: Work): boolean {
  if (typeof token === 'string') return token === point;
  if (typeof token === 'symbol') return token === ANY;
  work.left -= token.ranges.length;
  const code = point.codePointAt(0) ?? 0;
  return token.ranges.some(range => range.from <= code && code <= range.to) !== token.negated;
}

/**
 * Wildcard matching in at most |pattern| × |subject| comparisons: only the last wildcard passed ever needs to grow,
 * because an earlier one that took less has left at least as much to the right of it.
 */
function matchSequence<P, S>(
  pattern: readonly P[],
  subject: readonly S[],
  isWild: (part: P) => boolean,
  matchOne: (part: P, item: S) => boolean,
  work: Work,
): boolean {
  let at = 0;
  let item = 0;
  let wild = -1;
  let mark = 0;
  while (item < subject.length) {
    if (--work.left < 0) return false;
    const part = pattern[at];
    const next = subject[item];
    if (part !== undefined && isWild(part)) {
      wild = at++;
      mark = item;
    } else if (part !== undefined && next !== undefined && matchOne(part, next)) {
      at++;
      item++;
    } else if (wild !== -1) {
      at = wild + 1;
      item = ++mark;
    } else return false;
  }
  for (let part = pattern[at]; part !== undefined && isWild(part); part = pattern[at]) at++;
  return at === pattern.length;
}
