import type { JsonObject, JsonValue } from '../base/index.ts';
import { type Call, invokeSkill } from '../dialects/index.ts';
import {
  beyondLeast,
  type Decision,
  decide,
  type History,
  type Request,
  type Terms,
  termsOf,
  type Vouched,
} from '../policy/index.ts';
import { digestFolder, type Folder, type Parameter, type Skill } from '../skill/index.ts';
import { toPolicyRequest } from './facts.ts';
import { type Runner, vouchFor } from './plan.ts';
import { checkWorkspace } from './workspace.ts';

export type ExplainRequest = {
  skill: Skill;
  folder: Folder;
  /** A tool or script; null: everything that the skill can run. */
  target: string | null;
  workspace: string | null;
};

export type Explained = {
  vouched: Vouched;
  terms: Terms;
  targets: { request: Request; beyond: string[]; decision: Decision }[];
};

export type ExplainOptions = Pick<Runner, 'judge' | 'caller' | 'offLimits'> & { isolated: boolean };

/** Nobody said anything yet: how a first run is decided. */
export const NO_HISTORY: History = { approvedBefore: false, always: false, denied: false };

/** Which rule decides and why, without making anything ready: no sandbox, no snapshot. */
export async function explainRun(
  { judge, isolated, offLimits, caller }: ExplainOptions,
  { skill, folder, target, workspace: named }: ExplainRequest,
  historyOf: (request: Request) => Promise<History>,
): Promise<Explained> {
  const workspace = named === null ? null : checkWorkspace(named, offLimits);
  const policies = judge.policies(workspace);
  const vouched = vouchFor({ judge, caller }, folder);
  const digest = await digestFolder(folder);
  const targets: Explained['targets'] = [];
  for (const one of targetsOf(skill, target)) {
    const call: Call = { target: one, input: {}, stdin: null, mode: 'Global', callerEnv: {} };
    const invocation = invokeSkill(skill, call);
    const request = toPolicyRequest({ skill, digest, call, invocation, workspace, paths: [], isolated, vouched });
    const decision = decide(policies, request, await historyOf(request));
    targets.push({ request, beyond: beyondLeast(request.grant), decision });
  }
  return { vouched, terms: termsOf(policies), targets };
}

/** A name that the skill does not have is refused where it is called, with what it has. */
function targetsOf(skill: Skill, name: string | null): Call['target'][] {
  if (skill.dialect === 'gibberish') {
    const tools = name === null ? skill.tools.map(tool => tool.name) : [name];
    return tools.map(each => ({ kind: 'tool', name: each, arguments: samplesFor(skill, each) }));
  }
  if (name !== null) return [{ kind: 'script', path: name, arguments: [] }];
  const scripts = skill.scripts.map((script): Call['target'] => ({ kind: 'script', path: script.path, arguments: [] }));
  return skill.dialect === 'skillbox' || skill.dialect === 'seksbot' ? [{ kind: 'main' }] : scripts;
}

/** A decision does not depend on the arguments; these only let the call be built. */
function samplesFor(skill: Skill, name: string): JsonObject {
  const tool = skill.tools.find(each => each.name === name);
  const required = tool?.parameters.filter(parameter => parameter.required) ?? [];
  return Object.fromEntries(required.map(parameter => [parameter.name, sampleOf(parameter)]));
}

function sampleOf({ type }: Parameter): JsonValue {
  const samples: Record<Parameter['type'], JsonValue> = {
    string: 'x',
    integer: 1,
    number: 1,
    boolean: true,
    array: ['x'],
  };
  return samples[type];
}
