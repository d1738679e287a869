import { join } from 'node:path';
import type { Answers } from '../approvals/index.ts';
import type { Caller } from '../audit/index.ts';
import type { BrokerSurroundings } from '../broker/index.ts';
import { type Call, type Invocation, invokeSkill } from '../dialects/index.ts';
import type { Images } from '../images/index.ts';
import type { LayerHooks, Layers } from '../layers/index.ts';
import {
  isStrict,
  type Judge,
  type Policies,
  type Request,
  requiredLevels,
  SHIPPED,
  type SkillPlace,
  type Vouched,
} from '../policy/index.ts';
import type { RunSpec, Sandbox } from '../sandbox/index.ts';
import { type Lending, meaningOf, type Providers, type Redactor, resolveCapabilities } from '../secrets/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import type { Store, Writer } from '../store/index.ts';
import type { Afterwards } from './afterwards.ts';
import { checkCall, checkSizes, refuseDashed, requireRead } from './check-call.ts';
import { compileScript } from './compile.ts';
import { gatherLayers, type PlannedLayer } from './dependencies.ts';
import { checkEnv } from './env.ts';
import { toPolicyRequest } from './facts.ts';
import { chooseRuntime, type ImagePolicy } from './image.ts';
import { tellLeftOut } from './left-out.ts';
import { type LimitPolicy, resolveLimits } from './limits.ts';
import { checkPaths, type GivenPath } from './paths.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { toRunSpec, withOwnPrograms } from './spec.ts';
import type { Standby } from './standby.ts';
import { checkWorkspace, type OffLimits } from './workspace.ts';

/** Everything that runs need, whosever they are. */
export type Machine = {
  store: Store;
  sandbox: Sandbox;
  layers: Layers;
  images: Images;
  imagePolicy: ImagePolicy;
  dataDirectory: string;
  offLimits: OffLimits;
  limits: LimitPolicy;
  /** What is in force for a run, and who vouches for its skill. */
  judge: Judge;
  writer: Writer;
  /** What the people of a tenant said before. */
  answersOf: (tenant: string | null) => Answers;
  afterwards: Afterwards;
  /** Tokens for runs that use secrets. */
  lending: Lending;
  /** What the operator says about the broker's way out, for every run. */
  surroundings: BrokerSurroundings;
  /** Processes for the way out, held ready. */
  standby: Standby;
  /** What the capabilities of a skill stand for. */
  providers: Pick<Providers, 'list'>;
};

/** Everything a run needs that is not the run itself, for one caller: nothing of another tenant is within reach. */
export type Runner = Machine & { caller: Caller; answers: Answers };

export function runnerFor(machine: Machine, caller: Caller): Runner {
  return { ...machine, caller, answers: machine.answersOf(caller.tenant) };
}

export type RunRequest = {
  skill: Skill;
  folder: Folder;
  call: Call;
  /** The caller's own variables, added to what the dialect sets. */
  env: Record<string, string>;
  workspace: string | null;
  timeoutMs: number | null;
  /** SK-04: given by the caller beside what the skill declares, so that a skill of any dialect can have them. */
  capabilities?: readonly string[];
  /** WS-10, GB-11: paths of the host that the caller gives beyond the workspace. */
  paths?: readonly GivenPath[];
  /** Where the caller stood, of a run that waited: what answers it may stand elsewhere. */
  askedIn?: string | null;
};

export type StandIn = { name: string; digest: string };

export type Planned = {
  invocation: Invocation;
  snapshot: Snapshot;
  spec: RunSpec;
  /** The real path of the workspace; null: an empty private one. */
  workspace: string | null;
  /** What is in force for this run, and what it wishes: for whoever decides. */
  policies: Policies;
  wish: Request;
  layers: PlannedLayer[];
  /** The digest of the image that the run has as its root; null on the host's own. */
  image: string | null;
  /** The image of the sandbox that the run has where it asks for the host's own; null where it has these. */
  standIn: StandIn | null;
  /** What its capabilities stand for now, as a digest. */
  meaning: string | null;
  warnings: string[];
  /** Takes what was lent out of everything that the run leaves; null while nothing is. */
  redact: Redactor | null;
};

/**
 * What would run, made ready but not started: the whole of `--dry-run`, and the first half of a run. Without hooks no layer
 * is built; one that is not there yet is only named.
 */
export async function planRun(runner: Runner, request: RunRequest, building: LayerHooks | null): Promise<Planned> {
  const { skill, call } = request;
  checkEnv(request.env);
  checkCall(call);
  requireRead(skill);
  const given = request.capabilities ?? [];
  // Of what a skill declares, lint says it; what a caller mistypes is told before anybody is asked.
  if (given.length > 0) resolveCapabilities(given, runner.providers.list());
  const workspace = request.workspace === null ? null : checkWorkspace(request.workspace, runner.offLimits);
  const policies = runner.judge.policies(workspace, request.askedIn ?? null);
  if (isStrict(policies)) refuseDashed(skill, call);
  const invocation = invokeSkill(skill, call);
  const paths = checkPaths(request.paths ?? [], workspaceOf(workspace, invocation), runner.offLimits);
  // Before anything is made: an image that is not there, or not allowed, costs nothing (X-14, SB-03).
  const isolated = runner.sandbox.name !== 'process';
  const argv = isolated ? withOwnPrograms(invocation.argv) : invocation.argv;
  const chosen = chooseRuntime(skill.needs.image, { ...invocation, argv }, runner.images, runner.imagePolicy);
  const snapshot = await takeSnapshot(request.folder, join(runner.dataDirectory, 'snapshots'), runner.writer);
  const { tenant } = runner.caller;
  const vouched = vouchFor(runner, request.folder);
  const digest = snapshot.digest;
  const wish = toPolicyRequest({ skill, digest, call, invocation, workspace, paths, isolated, vouched, given });
  const { limits, warnings } = resolveLimits(
    skill.needs.limits,
    invocation.timeoutMs,
    tenant === null ? request.timeoutMs : shorter(request.timeoutMs, invocation.timeoutMs),
    runner.limits,
  );
  // Asked once: an answer is bound to the image that packages are built for. A tag may be given to another one at any moment.
  const standIn = chosen.image === null ? runner.sandbox.standIn() : Promise.resolve(null);
  const known = standIn.catch(() => UNKNOWN);
  const around = { ...chosen, tenant, standIn };
  const layers = await gatherLayers(runner.layers, request.folder, invocation, around, building);
  const spec = toRunSpec(
    { ...invocation, argv: chosen.argv, env: { ...chosen.env, ...request.env } },
    {
      skill: snapshot.path,
      skillEntries: snapshot.entries,
      workspace,
      paths,
      compiled: await compileScripts(runner, invocation, snapshot),
      dependencies: new Map(layers.flatMap(({ manager, path }) => (path === null ? [] : [[manager, path]]))),
    },
    {
      limits,
      network: { kind: 'none' },
      runtime: chosen.runtime,
      tenant,
      requires: requiredLevels(policies, isolated, tenant !== null),
    },
  );
  checkSizes(spec.argv, spec.env);
  warnings.push(...tellLeftOut(request.folder), ...invocation.warnings, ...(isolated ? [] : [NOT_ISOLATED]));
  return {
    invocation,
    snapshot,
    spec,
    workspace,
    policies,
    wish,
    layers,
    image: chosen.image,
    standIn: await known,
    meaning: meaningFor(wish, runner.providers),
    warnings,
    redact: null,
  };
}

/** As the run has it; null where it has none, and what lies in it is any path of the host. */
function workspaceOf(path: string | null, { mounts }: Invocation): { path: string; writable: boolean } | null {
  const mount = mounts.find(({ kind }) => kind === 'workspace');
  return path === null || mount?.kind !== 'workspace' ? null : { path, writable: mount.writable };
}

/** Most runs have none, and nobody reads the providers for them. */
export function meaningFor({ grant: { secrets } }: Request, providers: Pick<Providers, 'list'>): string | null {
  return secrets.length === 0 ? null : meaningOf(secrets, providers.list());
}

/** One that cannot be had is told when the run is prepared, with how to get it; until then it equals no other. */
const UNKNOWN: StandIn = { name: 'unknown', digest: 'unknown' };

/** Who shares a machine cannot have it for longer than the skill's author meant. */
function shorter(wanted: number | null, own: number): number {
  return wanted === null ? own : Math.min(wanted, own);
}

/** A tenant sees its own registry alone, and whoever may publish there vouches for what is in it. */
export function vouchFor({ caller: { tenant }, judge }: Pick<Runner, 'caller' | 'judge'>, folder: Folder): Vouched {
  if (folder.origin.kind !== 'registry' || tenant === null) return judge.vouch(placeOf(folder));
  return { trust: 'user', publisher: tenant, why: `It was published in ${tenant}, by somebody who may publish there.` };
}

/** Where a skill lies, for whoever says who vouches for it. */
export function placeOf({ origin, files }: Folder): SkillPlace {
  const publisher = origin.kind === 'registry' ? origin.publisher : null;
  return { kind: origin.kind, path: origin.path, publisher, files: files.map(({ path }) => path) };
}

async function compileScripts(
  { dataDirectory, writer }: Runner,
  { mounts }: Invocation,
  snapshot: Snapshot,
): Promise<Map<string, string>> {
  const compiled = new Map<string, string>();
  for (const mount of mounts) {
    if (mount.kind !== 'compiled') continue;
    compiled.set(mount.path, await compileScript(snapshot, mount.path, join(dataDirectory, 'compiled'), writer));
  }
  return compiled;
}

/** What the sandbox must hold where no file says otherwise. */
export const REQUIRED: RunSpec['requires'] = SHIPPED.least;

/** Said in every result, of what ran and of what waits: nothing stands between the skill and the account that runs it. */
const NOT_ISOLATED = 'without isolation: nothing stands between the skill and your account';
