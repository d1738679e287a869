import { visibleLine } from '../base/index.ts';
import type { Folder } from '../skill/index.ts';
import { readList } from './read-list.ts';

export const EVALS_FILE = 'evals/evals.json';

/** A question for a model, and texts that its answer must hold. */
export type Eval = { id: string; prompt: string; mustInclude: string[] };

/** Other tools keep more in this file; what they keep is theirs. */
const FIELDS = [
  'id',
  'name',
  'prompt',
  'expected_output',
  'must_include',
  'files',
  'expectations',
  'assertions',
  'expected_behavior',
];

export function readEvals(folder: Folder): Eval[] | null {
  const entries = readList(folder, EVALS_FILE, FIELDS, 'evals');
  if (entries === null) return null;
  return entries.map((entry, index) => {
    const prompt = entry.text('prompt');
    if (prompt === null) throw entry.fault('"prompt" is missing');
    const expected = entry.text('expected_output');
    const mustInclude = [...(expected === null ? [] : [expected]), ...(entry.texts('must_include') ?? [])];
    if (mustInclude.some(text => fold(text) === '')) throw entry.fault('"must_include" holds an empty text');
    const id = entry.value('id') ?? entry.value('name') ?? index + 1;
    if (typeof id !== 'string' && typeof id !== 'number') throw entry.fault('"id" must be a text or a number');
    return { id: String(id), prompt, mustInclude };
  });
}

/** What the answer lacks; null when it has all. Case and line breaks do not count: a model chooses them as it likes. */
export function judgeAnswer({ mustInclude }: Eval, answer: string): string | null {
  const folded = fold(answer);
  const missing = mustInclude.find(text => !folded.includes(fold(text)));
  return missing === undefined ? null : `the answer does not include "${visibleLine(missing, 80)}"`;
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}
