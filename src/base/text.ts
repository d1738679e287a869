/** Text that came from outside: what a person or a model must not be shown as it is. */

// C0 and C1 controls without \t and \n; zero-width and joiners; bidi controls; line and paragraph separators;
// the BOM; interlinear annotation; Unicode tag characters. Each can hide text or move a terminal's cursor.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/u;
// And what draws nothing at all: fillers, the empty Braille cell, and variation selectors away from an emoji. A name with one
// of them looks like another name, and a row of them is a text that only a model reads.
const UNSEEN = new RegExp(
  String.raw`${HIDDEN.source}|(?![\ufe0e\ufe0f])[\p{Default_Ignorable_Code_Point}\u2800]|(?<!\p{Emoji})[\ufe0e\ufe0f]`,
  'gu',
);
const UNUSUAL = /[^\x20-\x7e\n\t]/;

// Joiners and variation selectors inside an emoji sequence are how emoji are written, not a trick.
const EMOJI_JOIN = /(\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)\u200d(?=\p{Extended_Pictographic})/gu;
const EMOJI_TAGS = /\u{1f3f4}[\u{e0020}-\u{e007e}]+\u{e007f}/gu;

export type HiddenCharacter = { index: number; codePoint: number };

/** The first character that a reader would not see, or null. */
export function findHidden(text: string): HiddenCharacter | null {
  if (!HIDDEN.test(text)) return null;
  const masked = text
    .replace(EMOJI_TAGS, found => '?'.repeat(found.length))
    .replace(EMOJI_JOIN, (_all, left: string) => `${left}?`);
  const match = HIDDEN.exec(masked);
  return match === null ? null : { index: match.index, codePoint: match[0].codePointAt(0) ?? 0 };
}

export function renderCodePoint(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Safe for a terminal: every hidden character becomes a visible `<U+XXXX>`; tabs and newlines stay. */
export function visible(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return text.replace(UNSEEN, found => `<${renderCodePoint(found.codePointAt(0) ?? 0)}>`);
}

/** The same on one line, cut to `max` characters. */
export function visibleLine(text: string, max = 200): string {
  const line = visible(text.length > max * 4 ? text.slice(0, max * 4) : text)
    .replace(/\s+/g, ' ')
    .trim();
  const points = Array.from(line);
  return points.length > max ? `${points.slice(0, max - 1).join('')}…` : line;
}

/** The candidate closest to `word`, when it is close enough to be what was meant. */
export function suggest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Edits, up to `limit`; two letters that changed places are the likelier slip and count half. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > 64) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + cost,
          swapped ? (before[j - 2] ?? 0) + 0.5 : limit,
        ),
      );
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? limit;
}
