import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry, EntryFilter, Skillbox } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { FILTER_OPTIONS, readFilter } from '../audit-filter.ts';
import { sentenceOf } from '../audit-sentence.ts';
import type { Command, Input } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';

const FOLLOW_MS = 300;
const PAGE = 1000;
const SHOWN = 100;

export const auditList: Command = {
  name: 'audit list',
  summary: 'Show what happened: the newest entries of the journal, in the order in which they were written.',
  args: [],
  options: {
    ...FILTER_OPTIONS,
    limit: { help: 'how many (50)', value: 'N' },
    follow: { help: 'go on until Ctrl-C', short: 'f' },
    ...SERVER_OPTION,
    json: { help: 'print one JSON document; with --follow, one per entry' },
  },
  examples: [
    'skillbox audit list --type run --since 2h',
    'skillbox audit list --run 06 --json',
    'skillbox audit list -f',
  ],
  run: orOnServer(
    (input, io, config) => withSkillbox(io, skillbox => list(input, io, skillbox), { config }),
    async () => (await import('../remote/audit.ts')).listThere,
    { patient: true },
  ),
};

async function list(input: Input, io: Io, skillbox: Skillbox): Promise<number> {
  const limit = readLimit(input);
  const filter = await readFilter(input, skillbox);
  const { entries, position } = await skillbox.audit.list(filter, limit);
  const json = input.flag('json');
  if (input.flag('follow')) {
    print(entries, json, io);
    await follow(position, filter, json, io, skillbox);
  } else if (json) io.out(`${JSON.stringify({ entries }, null, 2)}\n`);
  else if (entries.length === 0) io.err('There are no such entries.\n');
  else print(entries, false, io);
  return EXIT.ok;
}

export function readLimit(input: Input): number {
  const limit = Number(input.value('limit') ?? 50);
  if (Number.isInteger(limit) && limit >= 1) return limit;
  throw new SkillboxError('USAGE', '--limit is a number from 1');
}

async function follow(from: number, filter: EntryFilter, json: boolean, io: Io, skillbox: Skillbox): Promise<void> {
  let position = from;
  while (!io.interrupt.aborted) {
    const page = await skillbox.audit.after(position, filter, PAGE);
    print(page.entries, json, io);
    position = page.position;
    // The interruption ends the wait early; the loop sees it.
    if (page.entries.length < PAGE) await sleep(FOLLOW_MS, undefined, { signal: io.interrupt }).catch(() => undefined);
  }
}

export function print(entries: readonly Entry[], json: boolean, io: Io): void {
  for (const entry of entries) io.out(`${json ? JSON.stringify(entry) : renderEntry(entry, io)}\n`);
}

/** One line. Names in it come from skills and callers. */
function renderEntry({ time, seq, type, actor, tenant, subject, data }: Entry, io: Io): string {
  const when = new Date(time).toISOString().slice(0, 19).replace('T', ' ');
  const who = `${actor.id} (${actor.channel})${tenant === null ? '' : ` of ${tenant}`}`;
  const sentence = sentenceOf(type, data);
  const text = visibleLine(sentence ?? JSON.stringify(data), 300);
  const more = sentence === null && text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  const parts = [when, String(seq).padStart(5), type.padEnd(16), visibleLine(subject ?? '-'), visibleLine(who)];
  return more === '' ? parts.join('  ') : `${parts.join('  ')}  ${io.paint('dim', more)}`;
}
