import { SkillboxError } from '../base/index.ts';
import type { Page, Paging, SkillVersion } from '../service/index.ts';
import type { SkillFilter, SkillRows, SkillVersions } from '../store/index.ts';
import { isName } from './names.ts';
import { pickVersion } from './resolve.ts';
import { toVersion } from './versions.ts';

export const MAX_PAGE = 1000;
/** Nobody reads further down a list of matches than this. */
const MAX_FOUND = 1000;

/** Page by page in the order of names: whoever goes on where a page ended misses nothing that was there all the time. */
export async function listByName(
  rows: SkillRows,
  filter: SkillFilter,
  { limit, after }: Paging,
): Promise<Page<SkillVersion>> {
  checkLimit(limit);
  if (after !== null && !isName(after)) throw badCursor();
  const wanted = Math.min(limit, MAX_PAGE);
  const items: SkillVersion[] = [];
  let last = after;
  while (items.length < wanted) {
    const asked = wanted - items.length;
    const found = await rows.names(filter, asked, last);
    items.push(...(await offered(rows, filter, found)));
    last = found.at(-1)?.name ?? last;
    if (found.length < asked) return { items, next: null };
  }
  return { items, next: last };
}

/** The best first. `after` counts how many were seen. */
export async function listByMatch(
  rows: SkillRows,
  filter: SkillFilter,
  query: string,
  { limit, after }: Paging,
): Promise<Page<SkillVersion>> {
  checkLimit(limit);
  const start = after === null ? 0 : Number(after);
  if (after !== null && !/^[1-9]\d{0,3}$/.test(after)) throw badCursor();
  const end = Math.min(start + Math.min(limit, MAX_PAGE), MAX_FOUND);
  const found = await rows.search(filter, query, end + 1);
  const items = await offered(rows, filter, found.slice(start, end));
  return { items, next: found.length > end && end < MAX_FOUND ? String(end) : null };
}

/** Of each name the version that is meant, in the same order; names that offer none are left out. */
async function offered(
  rows: SkillRows,
  { tenant, tag }: SkillFilter,
  names: readonly SkillVersions[],
): Promise<SkillVersion[]> {
  const keys = names.flatMap(({ name, versions }) => {
    const choice = pickVersion(versions, tag);
    return choice.kind === 'found' ? [{ name, version: choice.one.version }] : [];
  });
  if (keys.length === 0) return [];
  const heads = new Map((await rows.heads(tenant, keys)).map(head => [head.name, head]));
  return keys.flatMap(({ name }) => {
    const head = heads.get(name);
    return head === undefined ? [] : [toVersion(head)];
  });
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit > 0) return;
  throw new SkillboxError('USAGE', 'the limit of a page is a whole number from 1');
}

function badCursor(): SkillboxError {
  return new SkillboxError('USAGE', '"after" is no place in this list', {
    hint: 'Give the "next" of the page before.',
  });
}
