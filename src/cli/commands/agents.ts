import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { EXIT, findHome, SkillboxError, visibleLine } from '../../base/index.ts';
import {
  AGENT_IDS,
  type AgentId,
  agentIds,
  agentStates,
  type ConfigChange,
  detectAgents,
  LockedSources,
  type Plan,
  planConfigs,
  planInstall,
  readLock,
  type Scope,
  type Wanted,
  withConfigs,
} from '../../install/index.ts';
import { diffText } from '../../skill/index.ts';
import { type Command, columns, type Input, type Option } from '../command.ts';
import {
  carryOut,
  checkWhoInstalls,
  confirm,
  DRY_RUN_OPTION,
  fetchLimits,
  GLOBAL_OPTION,
  JSON_OPTION,
  scopeOf,
  YES_OPTION,
} from '../install-scope.ts';
import type { Io } from '../io.ts';
import { renderFile } from '../render-diff.ts';
import { renderPlan } from '../render-install.ts';
import { showPath } from '../write-folder.ts';

const AGENT: Option = { help: 'an agent, instead of all that are found', value: 'A', many: true };
const CHANGES = { agent: AGENT, global: GLOBAL_OPTION, 'dry-run': DRY_RUN_OPTION, yes: YES_OPTION, json: JSON_OPTION };
const DIFF_STEPS = 10_000_000;

export const agentsList: Command = {
  name: 'agents list',
  summary: 'List the agents, where each looks for skills, and whether it knows the Skillbox server.',
  args: [],
  options: { global: GLOBAL_OPTION, json: JSON_OPTION },
  examples: ['skillbox agents list --global'],
  async run(input, io) {
    const scope = scopeOf(input, io);
    const found = new Set(detectAgents(findHome(io.env)));
    const agents = agentStates(scope).map(state => ({ ...state, found: found.has(state.id) }));
    if (input.flag('json')) io.out(`${JSON.stringify({ scope: scope.kind, root: scope.root, agents }, null, 2)}\n`);
    else {
      const rows = agents.map(({ id, skills, config, wired, found: there }): [string, string] => {
        const server = config === null ? 'no file in a project' : `${showPath(config, io.cwd)} ${WIRED[String(wired)]}`;
        return [id, `${there ? 'found    ' : 'not found'}  ${skills}  ${visibleLine(server, 200)}`];
      });
      io.out(`${columns(rows).join('\n')}\n`);
    }
    return EXIT.ok;
  },
};

const WIRED: Readonly<Record<string, string>> = {
  true: 'names skillbox',
  false: 'does not name skillbox',
  null: 'cannot be read',
};

export const agentsInstall: Command = {
  name: 'agents install',
  summary: 'Put installed skills where agents look for them, and the Skillbox server into their configuration.',
  args: [],
  options: CHANGES,
  examples: ['skillbox agents install --dry-run', 'skillbox agents install --global --agent codex'],
  run: (input, io) => changeAgents(input, io, true),
};

export const agentsRemove: Command = {
  name: 'agents remove',
  summary: "Take installed skills out of agents' directories, and the Skillbox server out of their configuration.",
  args: [],
  options: CHANGES,
  examples: ['skillbox agents remove --agent cursor'],
  run: (input, io) => changeAgents(input, io, false),
};

async function changeAgents(input: Input, io: Io, wanted: boolean): Promise<number> {
  const scope = scopeOf(input, io);
  if (wanted) checkWhoInstalls(scope, io);
  const asked = agentIds(input.values('agent'));
  const agents = asked.length > 0 ? asked : detectAgents(findHome(io.env));
  if (agents.length === 0) {
    throw new SkillboxError('NOT_FOUND', 'no agent was found', {
      hint: `Name one with --agent: ${AGENT_IDS.join(', ')}.`,
    });
  }
  const sources = new LockedSources(scope, fetchLimits(input, io, scope));
  try {
    const skills = await planInstall(scope, await rewire(scope, sources, agents, wanted));
    const plan = withConfigs(skills, planConfigs(scope, agents, wanted));
    return await settle(plan, agents, wanted, input, io);
  } finally {
    await sources.close();
  }
}

/** Every installed skill for more agents, or for fewer. Only bytes that are as the lock says are handed on. */
async function rewire(
  scope: Scope,
  sources: LockedSources,
  agents: readonly AgentId[],
  wanted: boolean,
): Promise<Wanted[]> {
  const all: Wanted[] = [];
  for (const skill of readLock(scope.lockPath).values()) {
    const loaded = await sources.stored(skill);
    if (loaded === null) {
      throw new SkillboxError('LOCK_MISMATCH', `${skill.name} is not as skills.lock says`, {
        hint: 'Nothing was changed. Run `skillbox verify`, then `skillbox install`.',
      });
    }
    const next = wanted ? [...skill.agents, ...agents] : skill.agents.filter(id => !agents.includes(id));
    all.push({ loaded, agents: agentIds(next), method: skill.method, nested: true });
  }
  return all;
}

async function settle(plan: Plan, agents: readonly AgentId[], wanted: boolean, input: Input, io: Io): Promise<number> {
  const [json, dry] = [input.flag('json'), input.flag('dry-run')];
  if (!json) {
    for (const change of plan.configs) io.err(renderConfig(change, io));
    io.err(renderPlan({ ...plan, skills: [] }, io));
  }
  if (wanted && !isOnPath(io.env)) {
    io.err(
      'note: there is no skillbox on your PATH, so agents will not find it; put it there, or write its full path into the entries\n',
    );
  }
  const idle = plan.writes.length === 0;
  if (!idle && !dry) {
    if (!(await confirm('Write this?', input, io))) throw new SkillboxError('CANCELED', 'not confirmed');
    await carryOut(plan, io);
  }
  if (json) {
    const configs = plan.configs.map(({ agent, path, before, after }) => ({ agent, path, changed: before !== after }));
    io.out(`${JSON.stringify({ agents, configs, writes: plan.writes, done: !dry }, null, 2)}\n`);
  } else
    io.err(
      idle ? 'Everything is in place already.\n' : dry ? 'Nothing was written.\n' : 'Done. Start the agents again.\n',
    );
  return EXIT.ok;
}

/** The entries name the program without its path, so that a file that is shared holds on every machine. */
function isOnPath({ PATH = '' }: NodeJS.ProcessEnv): boolean {
  return PATH.split(delimiter).some(folder => isAbsolute(folder) && existsSync(join(folder, 'skillbox')));
}

function renderConfig({ path, before, after }: ConfigChange, io: Io): string {
  if (before === after) return '';
  const stateOf = (text: string | null) =>
    text === null ? null : { size: text.length, executable: false, digest: '' };
  const content = { kind: 'text' as const, ...diffText(before ?? '', after ?? '', { left: DIFF_STEPS }) };
  const change = before === null ? ('added' as const) : after === null ? ('removed' as const) : ('changed' as const);
  const shown = showPath(path, io.cwd);
  const file = { path: shown, change, before: stateOf(before), after: stateOf(after), content };
  return renderFile(file, io.paint);
}
