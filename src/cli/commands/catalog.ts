import { EXIT, SkillboxError } from '../../base/index.ts';
import {
  buildCatalog,
  FORMATS,
  type Format,
  TOKEN_COUNTS,
  type TokenCount,
  tokenCounter,
} from '../../catalog/index.ts';
import type { Config } from '../../config/index.ts';
import type { NativeTool } from '../../dialects/index.ts';
import { recentSkills } from '../../recent.ts';
import type { Mode } from '../../skill/index.ts';
import { catalogToJson, renderNotes } from '../catalog-report.ts';
import type { Command, Input } from '../command.ts';
import { takeEarly } from '../early-scan.ts';
import type { Io } from '../io.ts';
import { DIR_OPTION, localSkills } from '../local-skills.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';
import { useOtherProcessors } from '../short-lived.ts';

export const MODES = ['Global', 'Dev', 'Meeting'] as const satisfies readonly Mode[];

export const catalog: Command = {
  name: 'catalog',
  summary: 'Print the skills of this user and project for a model.',
  args: [],
  options: {
    dir: DIR_OPTION,
    format: { help: 'the form (xml)', value: 'FORMAT', choices: FORMATS },
    mode: { help: 'the mode the agent is in (Global)', value: 'MODE', choices: MODES },
    budget: { help: 'at most so many tokens; what does not fit is cut, then left out', value: 'TOKENS' },
    query: { help: 'only what fits these words, best first', value: 'TEXT' },
    limit: { help: 'at most so many skills', value: 'N' },
    tokens: { help: 'how tokens are counted (estimate: characters / 4)', value: 'HOW', choices: TOKEN_COUNTS },
    native: { help: 'a tool of the agent, for the gibberish manifest; several', value: 'NAME=TEXT', many: true },
    ...SERVER_OPTION,
    json: { help: 'print one JSON document: the catalog, and everything that is not in it' },
  },
  examples: [
    'skillbox catalog',
    'skillbox catalog --format markdown --budget 2000',
    'skillbox catalog --format gibberish --mode Dev --json',
    'skillbox catalog --query "count words" --limit 5',
  ],
  run: orOnServer(run, async () => (await import('../remote/catalog.ts')).catalogThere),
};

async function run(input: Input, io: Io, config: Config): Promise<number> {
  const tokens = (input.value('tokens') ?? 'estimate') as TokenCount;
  const request = {
    format: (input.value('format') ?? 'xml') as Format,
    mode: (input.value('mode') ?? 'Global') as Mode,
    budget: numberOf(input, 'budget'),
    limit: numberOf(input, 'limit'),
    query: input.value('query'),
    pinned: config.get('skills.pinned'),
    // Words say better what is wanted than habit does.
    recent: input.value('query') === null ? await recentSkills(config) : [],
    nativeTools: input.values('native').map(toNativeTool),
    count: await tokenCounter(tokens),
  };
  const early = takeEarly();
  const later: (() => void)[] = [];
  try {
    const scan = {
      ...(early === null ? {} : { lookAhead: early }),
      later: (work: () => void) => void later.push(work),
    };
    const found = localSkills(io, input.values('dir'), scan);
    useOtherProcessors();
    const built = await buildCatalog(found.resolution, { ...request, hidden: found.hidden });
    if (input.flag('json')) io.out(`${JSON.stringify(catalogToJson(built, found), null, 2)}\n`);
    else io.out(built.text);
    io.err(renderNotes(built, found, tokens));
  } finally {
    // At once: nobody who stops reading the answer keeps it from being done.
    for (const work of later) work();
    early?.close();
  }
  return EXIT.ok;
}

export function numberOf(input: Input, name: string): number | null {
  const text = input.value(name);
  if (text === null) return null;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new SkillboxError('USAGE', `--${name} is a number from 1, not "${text}"`);
}

function toNativeTool(text: string): NativeTool {
  const at = text.indexOf('=');
  return at === -1 ? { name: text, description: '' } : { name: text.slice(0, at), description: text.slice(at + 1) };
}
