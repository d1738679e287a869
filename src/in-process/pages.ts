import { SkillboxError } from '../base/index.ts';
import type { Page, Paging } from '../service/index.ts';
import type { RunCursor } from '../store/index.ts';

export const MAX_PAGE = 500;

/** How many at most: what a caller asks for, within reason. */
export function limitOf({ limit }: Paging): number {
  if (!Number.isInteger(limit) || limit < 1)
    throw new SkillboxError('USAGE', 'the limit of a page is a whole number from 1');
  return Math.min(limit, MAX_PAGE);
}

/** One more is asked for than is given: whether there is a next page is known without asking again. */
export function toPage<T>(found: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : null };
}

export function toCursor({ createdAt, id }: RunCursor): string {
  return `${createdAt}.${id}`;
}

export function readCursor(after: string | null): RunCursor | null {
  if (after === null) return null;
  const [, createdAt, id] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(after) ?? [];
  if (createdAt === undefined || id === undefined) throw badCursor();
  return { createdAt: Number(createdAt), id };
}

/** The place of an entry in one chain. */
export function readSeq(after: string | null): number | null {
  if (after === null) return null;
  if (!/^[1-9]\d{0,14}$/.test(after)) throw badCursor();
  return Number(after);
}

export function badCursor(): SkillboxError {
  return new SkillboxError('USAGE', '"after" is no place in this list', {
    hint: 'Give the "next" of the page before.',
  });
}
