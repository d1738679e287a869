import { findHome, homeOf, SkillboxError, visibleLine } from '../base/index.ts';
import { loadConfig, ownSkillDirectories } from '../config/index.ts';
import {
  type AgentId,
  agentIds,
  applyPlan,
  detectAgents,
  FETCH_LIMITS,
  type FetchLimits,
  keyFor,
  type LockedSkill,
  type Plan,
  projectScope,
  type Scope,
  userScope,
} from '../install/index.ts';
import { isAgent } from './approval-prompt.ts';
import type { Input, Option } from './command.ts';
import { openRegistry, siteKey, withSkillbox } from './connect.ts';
import type { Io } from './io.ts';

/** Options that the commands of installing share. */
export const GLOBAL_OPTION: Option = { help: 'for you, in your home directory, instead of this project' };
export const AGENT_OPTION: Option = {
  help: 'an agent to put them in place for, instead of those found',
  value: 'A',
  many: true,
};
export const DRY_RUN_OPTION: Option = { help: 'show what would be written, and write nothing' };
export const YES_OPTION: Option = { help: 'do not ask' };
export const JSON_OPTION: Option = { help: 'print one JSON document' };

export function scopeOf(input: Input, io: Io): Scope {
  const data = loadConfig(io).get('data.directory');
  if (input.flag('global')) return userScope(homeOf(io.env), data);
  return projectScope(io.cwd, findHome(io.env), data, ownSkillDirectories(io.env));
}

/** Ctrl-C ends what is being fetched. */
export function fetchLimits(input: Input, io: Io, scope: Scope): FetchLimits {
  return {
    ...FETCH_LIMITS,
    signal: io.interrupt,
    start: command => mayStart(command, scope, io),
    keyFor: url => {
      const keys = loadConfig(io).get('install.mcpKeys')?.read();
      return keys === undefined ? null : keyFor(keys, url);
    },
    registry: () => openRegistry(input, io),
    siteKey: url => siteKey(url, input, io),
  };
}

/**
 * Threat: a command in a lock comes with a repository, and one that is typed may be typed by an agent that may start nothing but
 * `skillbox`. So a person is asked at a terminal, each time; `--yes` stands for other answers.
 */
async function mayStart(command: readonly string[], scope: Scope, io: Io): Promise<string> {
  const shown = visibleLine(command.join(' '), 300);
  if (!io.interactive || isAgent(io)) {
    throw new SkillboxError(
      'SOURCE_REFUSED',
      `"${shown}" is a program, and nobody is at a terminal to say that it may start`,
      {
        hint: 'Type the command yourself, or use a server with an address: mcp+https://host/path.',
      },
    );
  }
  io.err(
    `The source is a program. It would be started now, with all your rights and outside every sandbox:\n  ${shown}\n`,
  );
  const answer = await io.askPerson('Start it? (y/N): ');
  if (answer !== null && /^y(?:es)?$/i.test(answer)) return scope.root;
  throw new SkillboxError('CANCELED', 'the program was not started');
}

/** Who wants a skill to run must not be the one who puts it where everything is trusted. */
export function checkWhoInstalls(scope: Scope, io: Io): void {
  if (scope.kind !== 'user' || !isAgent(io)) return;
  throw new SkillboxError('ANSWER_REFUSED', 'an agent cannot install for the user: what lies there is trusted', {
    hint: 'Type the command yourself, or install into the project.',
  });
}

/** For whom and how: what was asked for, otherwise what the lock says, otherwise the agents that are used here. */
export function settingsFor(
  input: Input,
  io: Io,
  before: LockedSkill | undefined,
): { agents: AgentId[]; method: 'link' | 'copy' } {
  if (input.flag('copy') && input.flag('link'))
    throw new SkillboxError('USAGE', '--copy and --link exclude each other');
  const asked = agentIds(input.values('agent'));
  const found = before?.agents ?? (asked.length > 0 ? [] : detectAgents(findHome(io.env)));
  const usual = before?.method ?? (process.platform === 'win32' ? 'copy' : 'link');
  return {
    agents: agentIds([...found, ...asked]),
    method: input.flag('copy') ? 'copy' : input.flag('link') ? 'link' : usual,
  };
}

/** False when a person said no. Without a person only --yes is a yes. */
export async function confirm(question: string, input: Input, io: Io): Promise<boolean> {
  if (input.flag('yes')) return true;
  if (!io.interactive || input.flag('json')) {
    throw new SkillboxError('USAGE', 'nobody can be asked here', {
      hint: 'Look at it with --dry-run, then say --yes.',
    });
  }
  const answer = await io.askPerson(`${question} (y/N): `);
  return answer !== null && /^y(?:es)?$/i.test(answer);
}

/** Writes the plan, with the journal told first. */
export async function carryOut(plan: Plan, io: Io): Promise<void> {
  if (plan.writes.length === 0) return;
  await withSkillbox(io, skillbox =>
    applyPlan(plan, async events => {
      for (const event of events) await skillbox.note(event);
    }),
  );
}
