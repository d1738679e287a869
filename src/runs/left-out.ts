import { visibleLine } from '../base/index.ts';
import type { Folder } from '../skill/index.ts';

const MAX_WARNINGS = 10;

/** What lies in the folder and is no part of the skill that runs: whoever misses it there should not have to guess. */
export function tellLeftOut({ problems }: Pick<Folder, 'problems'>): string[] {
  const left = problems.filter(({ severity }) => severity === 'error');
  const told = left.slice(0, MAX_WARNINGS).map(({ message }) => `of the skill's folder: ${visibleLine(message)}`);
  const more = left.length - told.length;
  return more === 0 ? told : [...told, `of the skill's folder: ${more} more; see skillbox skill lint`];
}
