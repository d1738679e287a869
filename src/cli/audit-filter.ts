import { type EntryFilter, EVENT_TYPES, type Skillbox } from '../app.ts';
import { parseDuration, SkillboxError, suggest } from '../base/index.ts';
import type { Input, Option } from './command.ts';

/** Which entries: the same words for every command that reads the journal. */
export const FILTER_OPTIONS: Readonly<Record<string, Option>> = {
  type: { help: 'only this type, such as run.ended, or a family such as run', value: 'TYPE', many: true },
  run: { help: 'only what is about this run', value: 'ID' },
  subject: { help: 'only what is about this', value: 'TEXT' },
  since: { help: 'from this time on: a date, or how long ago (2h)', value: 'TIME' },
  until: { help: 'before this time', value: 'TIME' },
};

export async function readFilter(input: Input, skillbox: Skillbox): Promise<EntryFilter> {
  const wish = await readWish(input, async id => (await skillbox.getRun(id)).id);
  return { ...wish, tenants: null, beforeSeq: null };
}

/** `find` gives the whole id of a run. */
export async function readWish(
  input: Input,
  find: (id: string) => Promise<string>,
): Promise<Pick<EntryFilter, 'types' | 'subject' | 'sinceMs' | 'untilMs'>> {
  const run = input.value('run');
  const subject = input.value('subject');
  if (run !== null && subject !== null) throw new SkillboxError('USAGE', 'give --run or --subject, not both');
  const types = input.values('type').flatMap(expandType);
  return {
    types: types.length === 0 ? null : types,
    subject: run === null ? subject : await find(run),
    sinceMs: readTime(input, 'since'),
    untilMs: readTime(input, 'until'),
  };
}

function expandType(name: string): string[] {
  const all = Object.keys(EVENT_TYPES);
  const found = all.filter(type => type === name || type.startsWith(`${name}.`));
  if (found.length > 0) return found;
  const meant = suggest(name, all);
  throw new SkillboxError(
    'USAGE',
    `there is no event type "${name}"${meant === null ? '' : `; did you mean ${meant}?`}`,
    { hint: 'docs/audit.md lists them.' },
  );
}

/** A date in a form that every machine reads alike, or a duration before now; null when the option was not given. */
export function readTime(input: Input, name: string): number | null {
  const text = input.value(name);
  if (text === null) return null;
  const ago = parseDuration(text);
  if (ago !== null) return Date.now() - ago;
  const time = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/.test(text)
    ? Date.parse(text.replace(' ', 'T'))
    : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new SkillboxError(
    'USAGE',
    `--${name} is "${text}", which is neither a date (2026-05-01, 2026-05-01T10:00Z) nor a duration (30m, 2h)`,
  );
}
