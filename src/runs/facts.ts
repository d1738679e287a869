import type { Call, Invocation } from '../dialects/index.ts';
import type { Grant, NetworkGrant, Request, Target, Vouched } from '../policy/index.ts';
import { comparePaths, type Skill } from '../skill/index.ts';

/** What a run is, as far as it matters to whoever decides. */
export type RunFacts = {
  skill: Skill;
  /** Of the snapshot that would run. */
  digest: string;
  call: Call;
  invocation: Invocation;
  /** The real path of the workspace; null: the run gets an empty private one. */
  workspace: string | null;
  /** Paths of the host that the caller gives. */
  paths: Grant['paths'];
  /** False for the driver that isolates nothing. */
  isolated: boolean;
  vouched: Vouched;
  /** Capabilities that the caller gives beside what the skill declares. */
  given?: readonly string[];
};

/** The wish to run, for the judge. Pure: the same run gives the same request. */
export function toPolicyRequest(run: RunFacts): Request {
  const { skill, digest, vouched } = run;
  const given = (run.given ?? []).filter(name => !skill.needs.secrets.includes(name));
  return {
    trust: vouched.trust,
    dialect: skill.dialect,
    skill: { name: skill.name, version: skill.version, digest },
    publisher: vouched.publisher,
    target: targetOf(run),
    readOnly: skill.needs.readOnly,
    alwaysAsk: skill.needs.alwaysAsk,
    grant: grantOf(run),
    ...(given.length > 0 ? { given } : {}),
  };
}

function targetOf({ call, skill }: RunFacts): Target {
  const { target } = call;
  switch (target.kind) {
    case 'main':
      return { kind: 'main', name: skill.main?.path ?? 'main' };
    case 'tool':
      return { kind: 'tool', name: target.name };
    case 'script':
      return { kind: 'script', name: scriptPath(skill, target.path) };
    case 'command':
      // All of it: whoever allowed `ls` always has not allowed `ls` of anything else.
      return { kind: 'command', name: target.argv.map(quote).join(' ') };
  }
}

/** A script may be called with or without its folder; a rule and an answer are about the one file. */
function scriptPath({ scripts }: Skill, path: string): string {
  return scripts.find(script => script.path === path || script.path === `scripts/${path}`)?.path ?? path;
}

/** So that no two commands read the same. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

/** What it would be given. A workspace that the dialect does not mount is not given. */
function grantOf({ skill, invocation, workspace, paths, isolated, given = [] }: RunFacts): Grant {
  const mount = invocation.mounts.find(each => each.kind === 'workspace');
  return {
    network: networkOf(skill, given.length > 0),
    secrets: [...new Set([...skill.needs.secrets, ...given])].sort(comparePaths),
    workspace: workspace === null || mount === undefined ? null : { path: workspace, writable: mount.writable },
    paths,
    isolated,
  };
}

/** GB-21, SK-11: what the skill asks for. `open` names no hosts, so it is all of them. What is given goes through the broker. */
function networkOf({ needs }: Skill, isGiven: boolean): NetworkGrant {
  switch (needs.network) {
    case 'none':
      return { kind: isGiven ? 'broker' : 'none' };
    case 'broker':
      return { kind: 'broker' };
    case 'open':
      return { kind: 'public' };
  }
}
