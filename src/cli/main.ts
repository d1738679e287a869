import { EXIT, SkillboxError, suggest } from '../base/index.ts';
import { columns } from './command.ts';
import { groupCommands } from './command-groups.ts';
import { COMMANDS } from './command-table.ts';
import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';

/** Runs one command line and answers with the exit code. Never exits the process itself. */
export async function main(words: string[], io: Io, version: string): Promise<number> {
  return reporting(words, io, () => dispatch(words, io, version));
}

async function dispatch(words: string[], io: Io, version: string): Promise<number> {
  const [first] = words;
  if (first === '--version' || first === '-V') {
    io.out(`${version}\n`);
    return EXIT.ok;
  }
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    const asked = first === 'help' ? words.slice(1) : [];
    if (asked.length > 0) return dispatch([...asked, '--help'], io, version);
    io.out(renderOverview(''));
    return first === undefined ? EXIT.usage : EXIT.ok;
  }
  const { name, rest } = findCommand(words);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) return unknownCommand(words, io);
  return perform(await entry.load(), rest, io);
}

function findCommand(words: string[]): { name: string; rest: string[] } {
  const two = words.slice(0, 2).join(' ');
  if (Object.hasOwn(COMMANDS, two)) return { name: two, rest: words.slice(2) };
  return { name: words[0] ?? '', rest: words.slice(1) };
}

/** What other programs call it. Near in letters is something else: who types `uninstall` does not want to install. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['uninstall', 'remove'],
  ['rm', 'remove'],
  ['delete', 'remove'],
  ['ls', 'list'],
  ['i', 'add'],
  ['upgrade', 'update'],
  ['check', 'verify'],
]);

/** What is asked for and is not there on purpose. The nearest name would lead astray: `secret get` is no misspelt `secret set`. */
const NEVER: ReadonlyMap<string, string> = new Map(
  ['secret get', 'secret show', 'secret read', 'secret cat', 'secret export'].map(name => [
    name,
    'A value that was stored is never shown again: `skillbox secret list` has the names, `skillbox secret rotate` gives a new value.',
  ]),
);

/** `skillbox skill` lists the group; anything else unknown is a usage error with the nearest name. */
function unknownCommand(words: string[], io: Io): number {
  const [first = '', second] = words;
  const inGroup = Object.keys(COMMANDS).some(name => name.startsWith(`${first} `));
  if (inGroup && (second === undefined || second === '--help' || second === '-h')) {
    io.out(renderOverview(first));
    return second === undefined ? EXIT.usage : EXIT.ok;
  }
  const asked = inGroup ? `${first} ${second}` : first;
  const never = NEVER.get(asked);
  if (never !== undefined) throw new SkillboxError('USAGE', `there is no command "${asked}"`, { hint: never });
  const candidates = inGroup
    ? Object.keys(COMMANDS)
    : [
        ...new Set(
          Object.keys(COMMANDS).flatMap(name => [name, name.split(' ')[0] ?? '', name.split(' ').at(-1) ?? '']),
        ),
      ];
  const meant = SYNONYMS.get(asked) ?? suggest(asked, candidates);
  const full =
    meant === null ? null : (Object.keys(COMMANDS).find(name => name === meant || name.endsWith(` ${meant}`)) ?? meant);
  throw new SkillboxError(
    'USAGE',
    `there is no command "${asked}"${full === null ? '' : `; did you mean "skillbox ${full}"?`}`,
    {
      hint: 'Run `skillbox --help` for the list.',
    },
  );
}

function renderOverview(group: string): string {
  const names = Object.keys(COMMANDS).filter(name => group === '' || name.startsWith(`${group} `));
  const groups = group === '' ? groupCommands(names) : [{ title: null, names }];
  const rows = groups.flatMap(each =>
    each.names.map((name): [string, string] => [name, COMMANDS[name]?.summary ?? '']),
  );
  const lines = columns(rows);
  const blocks = groups.flatMap(({ title, names: own }) => [
    ...(title === null ? [] : [`${title}:`]),
    ...lines.splice(0, own.length),
    '',
  ]);
  return `${[
    'skillbox: one runtime for every agent skill',
    '',
    `usage: skillbox ${group === '' ? 'COMMAND' : `${group} COMMAND`} [arguments]`,
    '',
    ...blocks,
    'Every command has --help. Results for machines: --json.',
  ].join('\n')}\n`;
}
