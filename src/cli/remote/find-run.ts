import { SkillboxError } from '../../base/index.ts';
import type { Run, Service } from '../../service/index.ts';

const PAGE = 500;
const MAX_PAGES = 10;
/** Shorter than this, a word is the beginning of an id. */
const ID_LENGTH = 26;

/** By id, or by the beginning of one among the newest. */
export async function findRun({ runs }: Pick<Service, 'runs'>, word: string): Promise<Run> {
  if (word.length >= ID_LENGTH) return runs.get(word);
  const found: Run[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const part = await runs.list({ states: null, skill: null, since: null, limit: PAGE, after });
    found.push(...part.items.filter(({ id }) => id.startsWith(word)));
    after = part.next;
    if (after === null || found.length > 1) break;
  }
  const [only, second] = found;
  if (only === undefined || word === '') throw new SkillboxError('NOT_FOUND', `there is no run "${word}"`);
  if (second !== undefined)
    throw new SkillboxError('USAGE', `several runs begin with "${word}"`, { hint: 'Give more of the id.' });
  return runs.get(only.id);
}
