import { SkillboxError } from '../../base/index.ts';
import type { Run, Service } from '../../service/index.ts';
import { readAll } from '../people.ts';

const PAGE = 500;
const MAX_PAGES = 10;
/** Shorter than this, a word is the beginning of an id. */
const ID_LENGTH = 26;

/** A whole id is taken at its word: whoever may act on a run may not always look at it. */
export async function findId(service: Pick<Service, 'runs'>, word: string): Promise<string> {
  return word.length >= ID_LENGTH ? word : (await findRun(service, word)).id;
}

/** The same of a run that waits for an answer: those are shown to whoever may give one. */
export async function findWaiting(service: Pick<Service, 'runs' | 'approvals'>, word: string): Promise<string> {
  if (word === '' || word.length >= ID_LENGTH) return findId(service, word);
  const waiting = await readAll(paging => service.approvals.waiting(paging));
  const found = waiting.filter(({ id }) => id.startsWith(word));
  if (found.length > 1) throw severalRuns(word);
  // Among those that do not wait, it can be told why; who may not look there is told what was looked at.
  return found[0]?.id ?? findId(service, word).catch((error: unknown) => notWaiting(error, word));
}

function notWaiting(error: unknown, word: string): never {
  if (!(error instanceof SkillboxError) || error.code !== 'FORBIDDEN') throw error;
  throw new SkillboxError('NOT_FOUND', `no run that waits begins with "${word}"`, {
    hint: 'skillbox approve list shows them.',
  });
}

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
  if (second !== undefined) throw severalRuns(word);
  return runs.get(only.id);
}

function severalRuns(word: string): SkillboxError {
  return new SkillboxError('USAGE', `several runs begin with "${word}"`, { hint: 'Give more of the id.' });
}
