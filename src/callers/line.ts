import { SkillboxError } from '../base/index.ts';
import type { KeyRow, KeyRows } from '../store/index.ts';
import { isPerson } from './oidc.ts';

/** A key of a key of a key. Nobody needs more of them, and each is looked up for every one that is let in. */
export const MAX_LINE = 4;

/**
 * A key and those that it was made with, the nearest first, as far as they are one holder's. Threat: whoever may both ask and
 * answer makes a second key to answer for the first, and whoever found a key makes another that outlives it.
 */
export type Line = {
  rows: KeyRow[];
  /** Whose they all are: the id of the first key, or of the person who made it. */
  holder: string;
};

/** An id that is no key's is a person's, or of one who needs none. */
export async function lineOf(keys: Pick<KeyRows, 'get'>, id: string): Promise<Line> {
  const rows: KeyRow[] = [];
  let holder = id;
  for (;;) {
    const row = isPerson(holder) ? null : await keys.get(holder);
    if (row === null) return { rows, holder };
    rows.push(row);
    if (!row.derived) return { rows, holder };
    if (rows.length > MAX_LINE) throw new SkillboxError('UNAUTHENTICATED', 'this key was made with too many others');
    holder = row.createdBy;
  }
}

/** Whether the one may do with the key as with their own: it is theirs, or was made with theirs. */
export function isIn({ rows, holder }: Line, id: string): boolean {
  return holder === id || rows.some(row => row.id === id);
}
