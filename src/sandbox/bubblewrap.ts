import { execFile } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { type Berth, makeBerth, type Usable } from './bubblewrap-berth.ts';
import { probeHost, recallOrProbe, type Standing } from './bubblewrap-check.ts';
import { gatherFacts } from './bubblewrap-facts.ts';
import { checkMounts, type Facts, planRun } from './bubblewrap-plan.ts';
import { carryOut, type Meters } from './bubblewrap-run.ts';
import { type Cgroup, destroyCgroup, listCgroups } from './cgroup.ts';
import { guardWorkspaces } from './guard.ts';
import { findHelper } from './helper.ts';
import { leftoverHandle } from './leftover.ts';
import { isAlive, ownerOfId, sameOwner, thisOwner } from './owner.ts';
import {
  checkSpec,
  type Guarantee,
  type Handle,
  type Level,
  type Outcome,
  type Owner,
  type Problem,
  type RunIo,
  type RunSpec,
  type RuntimeSpec,
  type RuntimeUsed,
  refuseMissing,
  type Sandbox,
} from './sandbox.ts';
import { overDisk, realPathOf, removeTree } from './state.ts';
import { sweepUids, type UidRange } from './uids.ts';

const call = promisify(execFile);

export type BubblewrapOptions = {
  /** Ours alone, mode 0700: run directories, uid locks, the made-up /etc. */
  stateDir: string;
  uids: UidRange;
  /** Where interpreters are looked for before the system's directories. */
  search: readonly string[];
  /** False leaves cgroups alone: the limits are then rlimits and a watch. */
  cgroups: boolean;
  /** Berths held ready and made anew after each run: a server wants one or two, a command none. */
  spares: number;
  bwrap: string | null;
  helper: string | null;
};

/** bubblewrap, in the hands of our helper: the default on Linux, for root and for ordinary users. */
export function createBubblewrap(given: BubblewrapOptions): Sandbox {
  const options = { ...given, stateDir: realPathOf(given.stateDir) };
  const enforces = new Map<Guarantee, Level>();
  const runs = join(options.stateDir, 'runs');
  const live = new Map<string, Handle>();
  let standing: Promise<Standing> | null = null;

  const stand = (probe: 'really' | 'once per boot' = 'once per boot'): Promise<Standing> => {
    standing ??= (probe === 'really' ? probeHost(options) : recallOrProbe(options)).then(found => {
      for (const [guarantee, level] of found.enforces) enforces.set(guarantee, level);
      return found;
    });
    return standing;
  };

  const usable = async (): Promise<Usable> => {
    const found = await stand();
    const fatal = found.problems.find(problem => problem.fatal);
    if (fatal !== undefined || found.tools === null)
      throw new SkillboxError(
        'SANDBOX_UNAVAILABLE',
        `The bubblewrap sandbox cannot be used: ${fatal?.what ?? 'unknown'}.`,
        {
          ...(fatal?.fix ? { hint: fatal.fix } : {}),
          details: { problems: found.problems },
        },
      );
    return { ...found, tools: found.tools };
  };

  const spares: Promise<Berth>[] = [];
  let closed = false;
  const addSpare = () => {
    const making = usable().then(async found => {
      const berth = await makeBerth(found, options);
      berth.launcher.idle(true);
      return berth;
    });
    making.catch(() => undefined); // told when a run wants it
    spares.push(making);
  };
  const berthFor = async (found: Usable): Promise<Berth> => {
    const spare = await spares.shift()?.catch(() => null); // a spare that failed is no reason: the run tries for itself
    if (spare === undefined || spare === null || spare.launcher.ended()) {
      await spare?.dispose();
      return makeBerth(found, options);
    }
    spare.launcher.idle(false);
    return spare;
  };

  return {
    name: 'bubblewrap',
    enforces,
    warm() {
      if (spares.length === 0 && !closed) addSpare();
    },
    async close() {
      closed = true;
      for (const spare of spares.splice(0)) await (await spare.catch(() => null))?.dispose();
    },
    async check(): Promise<Problem[]> {
      standing = null;
      enforces.clear();
      return (await stand('really')).problems;
    },
    problems: async () => (await stand()).problems,
    async prepare(spec) {
      checkSpec(spec);
      checkMounts(spec, path => existsSync(path));
      const found = await usable();
      const held = holds(spec, found);
      refuseMissing('bubblewrap', held, spec.requires);
      const berth = await berthFor(found);
      const refill = () => {
        while (!closed && spares.length < options.spares) addSpare();
      };
      const handle = await prepareRun(spec, held, found, berth, options, {
        ended: refill,
        disposed: () => live.delete(berth.id),
      });
      live.set(handle.id, handle);
      return handle;
    },
    async list(owner) {
      // Of our own, the runs that were handed out: a berth held ready is nobody's.
      if (sameOwner(owner, thisOwner())) return [...live.values()];
      const ids = await leftovers(runs, found => sameOwner(found, owner));
      return ids.map(({ id, owner: of }) => leftoverHandle(id, of, () => removeRun(id, options)));
    },
    async sweep() {
      const dead = (await leftovers(runs, owner => !isAlive(owner))).map(({ id }) => id);
      const { cgroups } = await stand();
      if (cgroups !== null)
        for (const id of await listCgroups(cgroups)) {
          const owner = ownerOfId(id);
          if (owner === null || isAlive(owner)) continue;
          await destroyCgroup(cgroups, id);
          if (!dead.includes(id)) dead.push(id);
        }
      for (const id of dead) await removeRun(id, options);
      sweepUids(options.uids.locks);
      return dead;
    },
  };
}

async function prepareRun(
  spec: RunSpec,
  held: Map<Guarantee, Level>,
  found: Usable,
  berth: Berth,
  options: BubblewrapOptions,
  tell: { ended: () => void; disposed: () => void },
): Promise<Handle> {
  const { id, directory, cgroup, launcher } = berth;
  let disposed = false;
  const dispose = async () => {
    disposed = true;
    tell.disposed();
    await berth.dispose();
  };
  try {
    cgroup?.limit(spec.limits);
    const facts = await gatherFacts(spec, found, options, directory, berth.uid, usesTmpfs(spec, found));
    // A tree too large to look through may hold a secret that is not hidden.
    if ([...facts.protections.values()].some(plan => !plan.complete)) held.set('workspace', 'none');
    refuseMissing('bubblewrap', held, spec.requires);
    if (facts.outTmpfs !== null) {
      const at = facts.outTmpfs;
      berth.before.push(() => call(found.tools.helper, ['unmount', at], { env: {} }));
    }
    const plan = planRun(spec, facts);
    const used: RuntimeUsed =
      spec.runtime.kind === 'image'
        ? { name: spec.argv[0] ?? '', version: null, from: imageUsed(spec.runtime), path: spec.argv[0] ?? '' }
        : (facts.programs[0]?.used ?? {
            name: spec.argv[0] ?? '',
            version: null,
            from: 'host',
            path: spec.argv[0] ?? '',
          });
    let startedAlready = false;
    return {
      id,
      owner: thisOwner(),
      async start(io: RunIo): Promise<Outcome> {
        if (startedAlready || disposed)
          throw new SkillboxError('INTERNAL', `The run ${id} was started twice, or after its end.`);
        startedAlready = true;
        const guard = await guardWorkspaces(spec, facts.protections, join(options.stateDir, 'quarantine', id));
        const meters = metersOf(spec, facts, cgroup, () => guard.during());
        const finished = await carryOut(launcher, plan, spec.limits, io, meters);
        tell.ended();
        await guard.after();
        const { end, streams, durationMs, usage } = finished;
        return { end, ...streams, durationMs, usage, runtime: used, held, planted: guard.planted };
      },
      async kill() {
        launcher.kill();
        await launcher.gone;
      },
      path(at) {
        const path = facts.files.get(at);
        if (path === undefined) throw new SkillboxError('INTERNAL', `Nothing of the run lies at ${at}.`);
        return path;
      },
      dispose,
    };
  } catch (error) {
    await dispose().catch(() => undefined); // the first fault is the one to tell
    throw error;
  }
}

/** tmpfs pages count as the run's memory: past half of it a full disk would be an OOM kill. */
function usesTmpfs(spec: RunSpec, found: Standing): boolean {
  return found.outTmpfs && spec.limits.diskBytes <= spec.limits.memoryBytes / 2;
}

/** What this spec's run has, which may be less than the host's best. */
function holds(spec: RunSpec, found: Standing): Map<Guarantee, Level> {
  const held = new Map(found.enforces);
  const writable = spec.mounts.some(mount => mount.kind === 'bind' && mount.writable);
  if (writable) held.set('disk', 'none');
  if (spec.mounts.some(mount => mount.kind === 'bind' && mount.writable && mount.protect === null))
    held.set('workspace', 'none');
  else if (!usesTmpfs(spec, found) && held.get('disk') === 'kernel-tree') held.set('disk', 'polled');
  return held;
}

function metersOf(spec: RunSpec, facts: Facts, cgroup: Cgroup | null, tick: () => Promise<void>): Meters {
  const outs = spec.mounts.filter(mount => mount.kind === 'out').map(mount => facts.files.get(mount.at) ?? '');
  return {
    cgroup,
    diskKills: facts.outTmpfs === null && outs.length > 0,
    async diskFull() {
      if (outs.length === 0) return false;
      if (facts.outTmpfs !== null) {
        const { bfree, ffree } = await statfs(facts.outTmpfs);
        return bfree === 0 || ffree === 0;
      }
      return overDisk(outs, spec.limits.diskBytes);
    },
    tick,
  };
}

async function leftovers(runs: string, wanted: (owner: Owner) => boolean): Promise<{ id: string; owner: Owner }[]> {
  let names: string[];
  try {
    names = await readdir(runs);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
  return names.flatMap(id => {
    const owner = ownerOfId(id);
    return owner !== null && wanted(owner) ? [{ id, owner }] : [];
  });
}

async function removeRun(id: string, options: BubblewrapOptions): Promise<void> {
  const directory = join(options.stateDir, 'runs', id);
  const disk = join(directory, 'disk');
  const helper = options.helper ?? findHelper();
  if (helper !== null && isMountPoint(disk, directory)) await call(helper, ['unmount', disk], { env: {} });
  await removeTree(directory);
}

function isMountPoint(path: string, parent: string): boolean {
  try {
    return lstatSync(path).dev !== lstatSync(parent).dev;
  } catch {
    return false; // not there
  }
}

/** A name can be given to another image tomorrow; the digest says which one it was. */
function imageUsed({ name, digest }: Extract<RuntimeSpec, { kind: 'image' }>): string {
  return `${name}@sha256:${digest.slice(0, 12)}`;
}
