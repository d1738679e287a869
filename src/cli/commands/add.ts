import { EXIT, SkillboxError } from '../../base/index.ts';
import {
  checkNames,
  chooseOffers,
  type Obtained,
  type Offer,
  obtain,
  type Plan,
  parseSource,
  planInstall,
  readLock,
  type Wanted,
  withSource,
} from '../../install/index.ts';
import type { Command, Input } from '../command.ts';
import {
  AGENT_OPTION,
  carryOut,
  checkWhoInstalls,
  confirm,
  DRY_RUN_OPTION,
  fetchLimits,
  GLOBAL_OPTION,
  JSON_OPTION,
  scopeOf,
  settingsFor,
  YES_OPTION,
} from '../install-scope.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { plural } from '../render-diagnostics.ts';
import { type Diffs, planJson, renderOffers, renderPlan } from '../render-install.ts';

export const add: Command = {
  name: 'add',
  summary: 'Install skills for your agents, and note in skills.lock exactly what was installed.',
  args: [
    {
      name: 'SOURCE',
      help: 'a folder, a zip, owner/repo[/folder][#ref], a git URL[#ref[:folder]], a site with an index of skills, NAME@VERSION of a published skill, or an MCP server: mcp+https://host/path[#skill://NAME/SKILL.md]',
      required: true,
      many: true,
    },
  ],
  options: {
    skill: { help: 'a skill to take, where a source has several', value: 'NAME', many: true },
    all: { help: 'take every skill of the sources' },
    list: { help: 'show what the sources have, and take nothing' },
    global: GLOBAL_OPTION,
    agent: AGENT_OPTION,
    link: { help: "put links to the stored copy into the agents' directories, where agents follow them (the default)" },
    copy: { help: "put copies into the agents' directories" },
    nested: { help: 'also where a skill holds further skills' },
    ...SERVER_OPTION,
    'dry-run': DRY_RUN_OPTION,
    yes: YES_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    'skillbox add ./my-skill',
    'skillbox add acme/skills --skill word-count --skill spell-check',
    'skillbox add https://example.org --all --dry-run',
    'skillbox add word-count@^1.2',
    'skillbox add mcp+https://example.org/mcp --list',
  ],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const scope = scopeOf(input, io);
  checkWhoInstalls(scope, io);
  const sources = input.args.map(word => parseSource(word, io.cwd));
  const lock = readLock(scope.lockPath);
  const opened: Obtained[] = [];
  try {
    for (const source of sources) opened.push(await obtain(source, null, fetchLimits(input, io, scope)));
    if (input.flag('list')) return printOffers(opened, input, io);
    checkNames(
      input.values('skill'),
      opened.flatMap(({ offers }) => offers),
    );
    const wanted: Wanted[] = [];
    for (const { offers } of opened) {
      for (const offer of await choose(offers, input, io)) {
        const loaded = withSource(await offer.load(), scope);
        const settings = settingsFor(input, io, lock.get(loaded.reading.skill?.name ?? ''));
        wanted.push({ loaded, ...settings, nested: input.flag('nested') });
      }
    }
    return await settle(await planInstall(scope, wanted), input, io);
  } finally {
    for (const one of opened) await one.close();
  }
}

function printOffers(opened: readonly Obtained[], input: Input, io: Io): number {
  const offers = opened.flatMap(one => one.offers);
  const skills = offers.map(({ name, description, folder, place }) => ({ name, description, folder, place }));
  io.out(input.flag('json') ? `${JSON.stringify({ skills }, null, 2)}\n` : renderOffers(offers));
  return EXIT.ok;
}

function choose(offers: readonly Offer[], input: Input, io: Io): Promise<readonly Offer[]> {
  const pick = io.interactive && !input.flag('json') ? (list: readonly Offer[]) => pickOffers(list, io) : null;
  return chooseOffers(offers, { names: input.values('skill'), all: input.flag('all'), pick });
}

async function pickOffers(offers: readonly Offer[], io: Io): Promise<readonly Offer[]> {
  io.err(renderOffers(offers));
  const typed = await io.ask('Which? Numbers or names, separated by commas, or "all":', '');
  if (typed === 'all') return offers;
  const words = typed.split(/[\s,]+/).filter(word => word !== '');
  if (words.length === 0) throw new SkillboxError('CANCELED', 'nothing was chosen');
  const picked = words.map(word => {
    const offer = /^\d+$/.test(word) ? offers[Number(word) - 1] : offers.find(({ name }) => name === word);
    if (offer === undefined) throw new SkillboxError('USAGE', `"${word}" is none of them`);
    return offer;
  });
  return [...new Set(picked)];
}

/** Shows the plan, asks, and carries it out. */
export async function settle(plan: Plan, input: Input, io: Io, diffs: Diffs = new Map()): Promise<number> {
  const json = input.flag('json');
  if (!json) io.err(renderPlan(plan, io));
  if (plan.writes.length === 0) {
    if (json) io.out(`${JSON.stringify(planJson(plan, true, diffs), null, 2)}\n`);
    else io.err('Everything is in place already.\n');
    return EXIT.ok;
  }
  const dry = input.flag('dry-run');
  if (!dry) {
    if (!(await confirm('Write this?', input, io))) throw new SkillboxError('CANCELED', 'not confirmed');
    await carryOut(plan, io);
  }
  if (json) io.out(`${JSON.stringify(planJson(plan, !dry, diffs), null, 2)}\n`);
  else if (dry) io.err('Nothing was written.\n');
  else {
    for (const { locked } of plan.skills) io.out(`${locked.name} ${locked.digest}\n`);
    io.err(`${plural(plan.skills.length, 'skill')} installed. Agents see new skills when they start again.\n`);
  }
  return EXIT.ok;
}
