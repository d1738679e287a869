import { EXIT, SkillboxError, suggest, visible } from '../base/index.ts';
import { columns, parseInput, renderHelp } from './command.ts';
import { groupCommands } from './command-groups.ts';
import { COMMANDS } from './command-table.ts';
import type { Io } from './io.ts';

/** Runs one command line and answers with the exit code. Never exits the process itself. */
export async function main(words: string[], io: Io, version: string): Promise<number> {
  const json = words.includes('--json');
  try {
    return await dispatch(words, io, version);
  } catch (error) {
    return reportError(error, json, io);
  }
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
  const command = await entry.load();
  const end = rest.indexOf('--');
  const own = end === -1 ? rest : rest.slice(0, end);
  if (own.includes('--help') || own.includes('-h')) {
    io.out(renderHelp(command));
    return EXIT.ok;
  }
  return command.run(parseInput(command, rest), io);
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

/** `skillbox skill` lists the group; anything else unknown is a usage error with the nearest name. */
function unknownCommand(words: string[], io: Io): number {
  const [first = '', second] = words;
  const inGroup = Object.keys(COMMANDS).some(name => name.startsWith(`${first} `));
  if (inGroup && (second === undefined || second === '--help' || second === '-h')) {
    io.out(renderOverview(first));
    return second === undefined ? EXIT.usage : EXIT.ok;
  }
  const asked = inGroup ? `${first} ${second}` : first;
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

function reportError(error: unknown, json: boolean, io: Io): number {
  const known =
    error instanceof SkillboxError
      ? error
      : new SkillboxError('INTERNAL', error instanceof Error ? error.message : String(error), { cause: error });
  if (json) {
    const { code, message, hint, details } = known;
    io.out(`${JSON.stringify({ error: code, message, hint, details })}\n`);
  } else {
    io.err(
      `${io.paint('red', 'error')}: ${visible(known.message)}\n${known.hint === '' ? '' : `  ${visible(known.hint)}\n`}`,
    );
    for (const line of toolLines(known)) io.err(`  ${io.paint('dim', visible(line))}\n`);
    if (known.code === 'INTERNAL' && error instanceof Error) io.err(`${visible(error.stack ?? '')}\n`);
  }
  return known.exit;
}

/** SB-07: what the package manager said last, where a build failed. */
function toolLines({ code, details }: SkillboxError): string[] {
  if (code !== 'DEPENDENCIES_FAILED' || !Array.isArray(details.lines)) return [];
  return details.lines.filter(line => typeof line === 'string').slice(-8);
}
