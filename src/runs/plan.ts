import { join } from 'node:path';
import { type Call, type Invocation, invokeSkill } from '../dialects/index.ts';
import type { RunSpec, Sandbox } from '../sandbox/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import type { Store } from '../store/index.ts';
import { compileScript } from './compile.ts';
import { checkEnv } from './env.ts';
import { type LimitPolicy, resolveLimits } from './limits.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { toRunSpec } from './spec.ts';

/** Everything a run needs that is not the run itself. */
export type Runner = {
  store: Store;
  sandbox: Sandbox;
  dataDirectory: string;
  limits: LimitPolicy;
  /** What the sandbox must hold for a run to start. */
  requires: RunSpec['requires'];
};

export type RunRequest = {
  skill: Skill;
  folder: Folder;
  call: Call;
  /** The caller's own variables, added to what the dialect sets. */
  env: Record<string, string>;
  workspace: string | null;
  timeoutMs: number | null;
};

export type Planned = { invocation: Invocation; snapshot: Snapshot; spec: RunSpec; warnings: string[] };

/** What would run, made ready but not started: the whole of `--dry-run`, and the first half of a run. */
export async function planRun(runner: Runner, request: RunRequest): Promise<Planned> {
  const { skill, call } = request;
  checkEnv(request.env);
  const invocation = invokeSkill(skill, call);
  const snapshot = await takeSnapshot(request.folder, join(runner.dataDirectory, 'snapshots'));
  const compiled = new Map<string, string>();
  for (const mount of invocation.mounts) {
    if (mount.kind !== 'compiled') continue;
    const directory = join(runner.dataDirectory, 'compiled', snapshot.digest.replace(':', '-'));
    compiled.set(mount.path, await compileScript(snapshot.path, mount.path, directory));
  }
  const spec = toRunSpec(
    { ...invocation, env: { ...invocation.env, ...request.env } },
    {
      skill: snapshot.path,
      skillEntries: snapshot.entries,
      workspace: request.workspace,
      compiled,
      dependencies: null,
    },
    {
      limits: resolveLimits(skill.needs.limits, invocation.timeoutMs, request.timeoutMs, runner.limits),
      network: { kind: 'none' },
      runtime: { kind: 'host', also: [] },
      tenant: null,
      requires: runner.requires,
    },
  );
  return {
    invocation,
    snapshot,
    spec,
    warnings: [...invocation.warnings, ...missingPower(skill), ...missingIsolation(runner)],
  };
}

/** Isolation and network by the kernel always; memory and pids at least per process. Less is refused. */
export const REQUIRED: RunSpec['requires'] = new Map([
  ['files', 'kernel-tree'],
  ['network', 'kernel-tree'],
  ['processes', 'kernel-tree'],
  ['syscalls', 'kernel-tree'],
  ['privileges', 'kernel-tree'],
  ['environment', 'kernel-tree'],
  ['memory', 'kernel-process'],
  ['pids', 'kernel-process'],
  ['time', 'polled'],
]);

/** Said in every result: nothing stood between the skill and the account that ran it. */
function missingIsolation({ requires }: Runner): string[] {
  return requires.size === 0 ? ['the skill ran without isolation'] : [];
}

/** What the skill asks for and does not get; said in every result rather than left to be found out. */
function missingPower(skill: Skill): string[] {
  const warnings: string[] = [];
  if (skill.needs.network === 'broker')
    warnings.push('the skill asks for the secrets broker, which is not there yet: it has no network');
  if (skill.needs.network === 'open')
    warnings.push('the skill asks for the network, which nothing grants yet: it has none');
  return warnings;
}
