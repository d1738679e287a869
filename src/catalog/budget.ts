import type { CountTokens } from './tokens.ts';

/** What was done to make a catalog fit. */
export type Cuts = { leftOut: number; shortened: number };

/** Descriptions are cut to these lengths, one after the other, before any skill is left out. */
export const DESCRIPTION_CAPS = [1024, 512, 256, 128, 64] as const;

export type Fitted<T> = { shown: T[]; cuts: Cuts; text: string; tokens: number };

type Shrinkable<T> = {
  /** Best first: the last go first. */
  entries: readonly T[];
  /** The entry with its texts cut to `cap` characters; the same entry when nothing had to be cut. */
  shorten: (entry: T, cap: number) => T;
  render: (entries: readonly T[], cuts: Cuts) => string;
  count: CountTokens;
};

/**
 * The catalog within a budget. First the descriptions shrink, all to the same length, and only as far as needed; then the
 * lowest ranked are left out. Without a budget only descriptions over the longest allowed one are cut.
 */
export function fitBudget<T>({ entries, shorten, render, count }: Shrinkable<T>, budget: number | null): Fitted<T> {
  const attempt = (cap: number, keep: number): Fitted<T> => {
    const cuts = { leftOut: entries.length - keep, shortened: 0 };
    const shown: T[] = [];
    for (const entry of entries) {
      if (shown.length === keep) break;
      const short = shorten(entry, cap);
      shown.push(short);
      if (short !== entry) cuts.shortened++;
    }
    const text = render(shown, cuts);
    return { shown, cuts, text, tokens: count(text) };
  };
  let best = attempt(DESCRIPTION_CAPS[0], entries.length);
  if (budget === null || best.tokens <= budget) return best;
  for (const cap of DESCRIPTION_CAPS) {
    best = attempt(cap, entries.length);
    if (best.tokens <= budget) return best;
  }
  const shortest = DESCRIPTION_CAPS[DESCRIPTION_CAPS.length - 1] ?? 64;
  let [fits, over] = [0, entries.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (attempt(shortest, middle).tokens <= budget) fits = middle;
    else over = middle;
  }
  return attempt(shortest, fits);
}

/** At the end of a word where there is one, never inside a character. */
export function cutText(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const points = Array.from(text);
  if (points.length <= cap) return text;
  const cut = points.slice(0, cap - 1).join('');
  const space = cut.lastIndexOf(' ');
  return `${(space > cap / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** What people and models are told about it; null when nothing was cut. */
export function renderCuts({ leftOut, shortened }: Cuts): string | null {
  const parts = [
    leftOut === 0 ? null : `${leftOut} ${leftOut === 1 ? 'skill is' : 'skills are'} left out`,
    shortened === 0 ? null : `${shortened} ${shortened === 1 ? 'description is' : 'descriptions are'} shortened`,
  ].filter(part => part !== null);
  return parts.length === 0 ? null : `To save room, ${parts.join(' and ')}.`;
}
