import { execFile } from 'node:child_process';
import { chownSync, existsSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { probeHost, recallOrProbe, type Standing } from './bubblewrap-check.ts';
import { checkMounts, type Facts, INSIDE_UID, planRun } from './bubblewrap-plan.ts';
import { carryOut, type Meters } from './bubblewrap-run.ts';
import { type Cgroup, type Controller, destroyCgroup, listCgroups, makeCgroup } from './cgroup.ts';
import { findHelper } from './helper.ts';
import { type Launcher, startLauncher } from './launcher.ts';
import { isAlive, newId, ownerOfId, sameOwner, thisOwner } from './owner.ts';
import { findPlanted, isSteady, lookAt, type ProtectionPlan, planProtection, quarantine } from './protect.ts';
import { hostRoot, imageRoot, resolveProgram } from './runtime.ts';
import {
  checkSpec,
  type Guarantee,
  type Handle,
  type Level,
  type Outcome,
  type Owner,
  type Planted,
  type Problem,
  type RunIo,
  type RunSpec,
  type RuntimeUsed,
  refuseMissing,
  type Sandbox,
} from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makeEtc, makePrivate, measureTree, realPathOf, removeTree } from './state.ts';
import { sweepUids, takeUid, type UidRange } from './uids.ts';

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
      return ids.map(({ id, owner: of }) => leftover(id, of, () => removeRun(id, options)));
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

type Usable = Standing & { tools: NonNullable<Standing['tools']> };

/**
 * A place for one run: its name, directory, uid, cgroup, and the launcher that waits in it. It knows nothing of the run
 * to come and has held none before, so one may be kept ready: joining a cgroup makes the kernel wait up to 20 ms.
 */
type Berth = {
  id: string;
  directory: string;
  uid: number | null;
  cgroup: Cgroup | null;
  launcher: Launcher;
  /** Steps that `dispose` takes after the processes are dead and before the directory goes. */
  before: (() => Promise<unknown>)[];
  dispose(): Promise<void>;
};

async function makeBerth(found: Usable, options: BubblewrapOptions): Promise<Berth> {
  const id = newId(thisOwner());
  const directory = join(options.stateDir, 'runs', id);
  const undo: (() => Promise<unknown>)[] = [];
  const before: (() => Promise<unknown>)[] = [];
  const dispose = async () => {
    const faults: unknown[] = [];
    // Emptied as it goes: a second call finds nothing to do.
    for (let step = undo.pop(); step !== undefined; step = undo.pop())
      await step().catch((error: unknown) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  };
  try {
    let uid: number | null = null;
    let cgroup: Cgroup | null = null;
    const launcher = await startLauncher(found.tools.helper, async () => {
      mkdirSync(directory, { mode: 0o700 });
      undo.push(() => removeTree(directory));
      if (process.getuid?.() === 0) {
        const taken = takeUid(options.uids);
        uid = taken.uid;
        undo.push(async () => taken.release());
      }
      const made = found.cgroups === null ? null : await makeCgroup(found.cgroups, id);
      cgroup = made;
      if (made !== null) undo.push(() => made.remove());
      undo.push(async () => {
        for (const step of before) await step();
      });
      return [...(uid === null ? [] : ['ids', uid, uid]), ...(made?.procs.flatMap(path => ['join', path]) ?? [])];
    });
    undo.push(async () => {
      launcher.idle(false);
      launcher.kill();
      await launcher.gone;
    });
    return { id, directory, uid, cgroup, launcher, before, dispose };
  } catch (error) {
    await dispose().catch(() => undefined); // the first fault is the one to tell
    throw error;
  }
}

const ETC_BINDS = ['/etc/ld.so.cache', '/etc/alternatives'];
const etcs = new Map<string, Promise<string>>();

/** Once per process: our own directory, which nobody else writes to. */
function etcOf(stateDir: string): Promise<string> {
  const made = etcs.get(stateDir) ?? makeEtc(stateDir, INSIDE_UID);
  etcs.set(stateDir, made);
  made.catch(() => etcs.delete(stateDir));
  return made;
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
        ? { name: spec.argv[0] ?? '', version: null, from: spec.runtime.name, path: spec.argv[0] ?? '' }
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
        const planted: Planted[] = [];
        const guards = await guardWorkspaces(
          spec,
          facts.protections,
          join(options.stateDir, 'quarantine', id),
          planted,
        );
        const meters = metersOf(spec, facts, cgroup, guards.tick);
        const finished = await carryOut(launcher, plan, spec.limits, io, meters);
        tell.ended();
        await guards.final();
        const { end, streams, durationMs, usage } = finished;
        return { end, ...streams, durationMs, usage, runtime: used, held, planted };
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

async function gatherFacts(
  spec: RunSpec,
  found: Usable,
  options: BubblewrapOptions,
  directory: string,
  uid: number | null,
  tmpfs: boolean,
): Promise<Facts> {
  const files = new Map<string, string>();
  const protections = new Map<string, ProtectionPlan>();
  const disk = join(directory, 'disk');
  // Synchronous where it is a system call or two: under load every trip to the thread pool costs more than the work.
  if (spec.mounts.some(mount => mount.kind === 'out')) mkdirSync(disk, { mode: 0o700 });
  for (const [index, mount] of spec.mounts.entries()) {
    if (mount.kind === 'text') {
      const path = join(directory, `text-${index}`);
      writeFileSync(path, mount.text, { mode: 0o400, flag: 'wx' });
      if (uid !== null) chownSync(path, uid, uid);
      files.set(mount.at, path);
    } else if (mount.kind === 'out') {
      const path = join(disk, String(index));
      files.set(mount.at, path);
      if (!tmpfs) for (const made of [path, ...mount.directories.map(name => join(path, name))]) makeOwned(made, uid);
    } else if (mount.kind === 'bind') {
      refuseLink(mount.source);
      if (mount.protect !== null) protections.set(mount.at, await planProtection(mount.source, mount.protect));
    }
  }
  if (spec.network.kind === 'egress') refuseLink(spec.network.socket);
  const host = spec.runtime.kind === 'host';
  const name = spec.argv[0] ?? '';
  const names = spec.runtime.kind === 'host' ? [...(name.includes('/') ? [] : [name]), ...spec.runtime.also] : [];
  const programs = await Promise.all(
    [...new Set(names)].map(wanted => resolveProgram(wanted, options.search, options.stateDir)),
  );
  return {
    bwrap: found.tools.bwrap,
    helper: found.tools.helper,
    filter: filterFor(process.arch),
    runAs: uid === null ? null : { uid, gid: uid },
    root: spec.runtime.kind === 'image' ? await imageRoot(spec.runtime.name, spec.runtime.root) : hostRoot(),
    etc: host ? await etcOf(options.stateDir) : null,
    etcBinds: host ? ETC_BINDS.filter(path => existsSync(path)).map(at => ({ source: realPathOf(at), at })) : [],
    // The first is what argv[0] became; an absolute path is taken as it is.
    programs: name.includes('/')
      ? [{ used: { name, version: null, from: 'host', path: name }, real: name, mounts: [], bin: null }, ...programs]
      : programs,
    cgroup: new Set(found.cgroups?.parents.keys() ?? ([] as Controller[])),
    outTmpfs: tmpfs && files.size > 0 && spec.mounts.some(mount => mount.kind === 'out') ? disk : null,
    files,
    protections,
  };
}

function makeOwned(path: string, uid: number | null): void {
  mkdirSync(path, { mode: 0o700 });
  if (uid !== null) chownSync(path, uid, uid);
}

/** The source is what was meant, not what a link in it points to now. */
function refuseLink(source: string): void {
  let real: string;
  try {
    real = realpathSync.native(source);
  } catch (error) {
    throw new SkillboxError('NOT_FOUND', `There is no ${source} to mount.`, { cause: error });
  }
  if (real !== source)
    throw new SkillboxError('INTERNAL', `The mount source ${source} is a link to ${real}; give the real path.`);
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
  const maxEntries = Math.max(64, Math.floor(spec.limits.diskBytes / 4096));
  return {
    cgroup,
    diskKills: facts.outTmpfs === null && outs.length > 0,
    async diskFull() {
      if (outs.length === 0) return false;
      if (facts.outTmpfs !== null) {
        const { bfree, ffree } = await statfs(facts.outTmpfs);
        return bfree === 0 || ffree === 0;
      }
      let bytes = 0;
      for (const out of outs) {
        const measured = await measureTree(out, maxEntries);
        if (measured === null) return true;
        bytes += measured.bytes;
      }
      return bytes > spec.limits.diskBytes;
    },
    tick,
  };
}

/** WS-10 where no mount can stand: what was not there is looked for, and moved away. */
async function guardWorkspaces(
  spec: RunSpec,
  protections: ReadonlyMap<string, ProtectionPlan>,
  to: string,
  planted: Planted[],
) {
  const guarded: { root: string; absent: string[]; before: Map<string, string> }[] = [];
  for (const mount of spec.mounts) {
    const plan = protections.get(mount.at);
    if (mount.kind !== 'bind' || !mount.writable || plan === undefined) continue;
    guarded.push({ root: mount.source, absent: plan.absent, before: await lookAt(mount.source, plan.absent) });
  }
  const look = async (steadyOnly: boolean) => {
    for (const [index, { root, absent, before }] of guarded.entries()) {
      const paths = steadyOnly ? absent.filter(isSteady) : absent;
      const found = await findPlanted(root, paths, before);
      if (found.length > 0) planted.push(...(await quarantine(root, found, join(to, `${index}-${planted.length}`))));
    }
  };
  return { tick: () => look(true), final: () => look(false) };
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

/** A run of a process that is gone: its processes died with it, its files may still be there. */
function leftover(id: string, owner: Owner, dispose: () => Promise<void>): Handle {
  const refuse = (): never => {
    throw new SkillboxError('INTERNAL', `The run ${id} belongs to another process.`);
  };
  return {
    id,
    owner,
    start: async () => refuse(),
    kill: async () => refuse(),
    path: refuse,
    dispose: async () => (isAlive(owner) ? refuse() : dispose()),
  };
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

export async function makeStateDir(stateDir: string): Promise<void> {
  await makePrivate(join(stateDir, 'runs'));
}
