import { existsSync, lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { createAhead } from './bubblewrap-ahead.ts';
import { type Berth, makeBerth, type Usable } from './bubblewrap-berth.ts';
import { probeHost, recallOrProbe, type Standing } from './bubblewrap-check.ts';
import { handleOf, holds, prepareRun } from './bubblewrap-handle.ts';
import { checkMounts } from './bubblewrap-mounts.ts';
import { encodeRun } from './bubblewrap-spare.ts';
import { fillSpare, type Spare, startSpare, warmableOf } from './bubblewrap-warm.ts';
import { destroyCgroup, listCgroups, makeCgroup } from './cgroup.ts';
import { findHelper } from './helper.ts';
import { createKeepers, type Keeper } from './keeper.ts';
import { leftoverHandle } from './leftover.ts';
import { isAlive, ownerOfId, sameOwner, thisOwner } from './owner.ts';
import {
  checkSpec,
  type Guarantee,
  type Handle,
  type Level,
  type Owner,
  type Problem,
  type RunSpec,
  refuseMissing,
  type Sandbox,
} from './sandbox.ts';
import { realPathOf, removeTree } from './state.ts';
import { sweepUids, type UidRange } from './uids.ts';
import { createWarmPool, type WarmOptions, type WarmReport } from './warm-pool.ts';
import type { Shape } from './warm-shape.ts';

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
  /** Whole sandboxes held ready, with the interpreter up: docs/warm-pool.md. */
  warm: WarmOptions;
  bwrap: string | null;
  helper: string | null;
};

/** The options, and what the driver's own parts share besides. */
export type Workings = BubblewrapOptions & { keeperOf: (helper: string) => Keeper; cgroupFor: typeof makeCgroup };

/** What only this driver has. */
export type Bubblewrap = Sandbox & {
  /** What is held ready. */
  warmth(): WarmReport;
  /** Where the run that is expected will find its way out, if it is like the last of its name; null: it has none. */
  wayOut(): string | null;
  /** Holds a sandbox ready for specs like this one; false when such a run goes the cold way. */
  preheat(spec: RunSpec): Promise<boolean>;
};

/** bubblewrap, in the hands of our helper: the default on Linux, for root and for ordinary users. */
export function createBubblewrap(given: BubblewrapOptions, cgroupFor = makeCgroup): Bubblewrap {
  const stateDir = realPathOf(given.stateDir);
  const keepers = createKeepers(join(stateDir, 'keepers'));
  const options: Workings = { ...given, stateDir, keeperOf: keepers.of, cgroupFor };
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
  const addSpare = (told: () => void = () => {}) => {
    const making = usable().then(async found => {
      const { berth } = await makeBerth(found, options, async () => told());
      berth.launcher.idle(true);
      return berth;
    });
    making.catch(() => told()); // the fault itself is told when a run wants it
    spares.push(making);
  };
  const takeSpare = async (): Promise<Berth | null> => {
    const spare = (await spares.shift()?.catch(() => null)) ?? null; // one that failed is no reason: the run tries for itself
    if (spare?.launcher.ended() === true) {
      await spare.dispose();
      return null;
    }
    spare?.launcher.idle(false);
    return spare;
  };

  const prepareCold = async (spec: RunSpec, held: Map<Guarantee, Level>, found: Usable, over: () => void) => {
    const prepareIn = (berth: Berth) =>
      prepareRun(spec, held, found, berth, options, {
        ended: () => {
          over();
          while (!closed && spares.length < options.spares) addSpare();
        },
        disposed: () => {
          over();
          live.delete(berth.id);
        },
      });
    const spare = await takeSpare();
    if (spare !== null) {
      const handle = await prepareIn(spare);
      // It may have been on its way into its cgroups all the while. Nothing of the run is started yet, so another will do.
      if (await hasJoined(spare)) return handle;
      await spare.dispose().catch(() => undefined); // a sweep finds what is left
    }
    return prepareIn((await makeBerth(found, options, async () => {})).berth);
  };
  /** Null: nothing is held ready that fits exactly, and the run goes the usual way. */
  const prepareWarm = async (spec: RunSpec, held: Map<Guarantee, Level>, over: () => void): Promise<Handle | null> => {
    const pooled = options.warm.inAll > 0 && !pool.isSpent();
    const warmable = pooled || ahead.isExpecting() ? await warmableOf(spec, options) : null;
    const first = await ahead.take(warmable?.shape ?? null);
    const spare = first ?? (warmable !== null && pooled ? pool.take(warmable.shape) : null);
    if (warmable === null || spare === null) return null;
    const { berth } = spare;
    berth.launcher.idle(false);
    try {
      const facts = fillSpare(spare, warmable.fills);
      const begin = () => berth.launcher.go(encodeRun(spec, facts));
      const disposed = () => {
        over();
        live.delete(berth.id);
      };
      const dispose = () => (spare === first ? spare.dispose() : pool.release(spare));
      return handleOf(spec, held, { berth: { ...berth, dispose }, facts, begin }, options, { ended: over, disposed });
    } catch (error) {
      await spare.dispose();
      if (errnoOf(error) === undefined) throw error;
      return null; // a file that changed as it was copied: the cold path says what is wrong with it, if anything
    }
  };
  const pool = createWarmPool<Shape, Spare>(options.warm, async shape => startSpare(shape, await usable(), options));
  const ahead = createAhead(stateDir, async (shape, told, signal) =>
    startSpare(shape, await usable(), options, told, signal),
  );

  return {
    name: 'bubblewrap',
    enforces,
    warmth: () => pool.report(),
    wayOut: () => ahead.wayOut(),
    async preheat(spec) {
      checkSpec(spec);
      const warmable = options.warm.inAll === 0 ? null : await warmableOf(spec, options);
      if (warmable === null) return false;
      await pool.ensure(warmable.shape);
      return true;
    },
    warm: name =>
      new Promise<void>(resolve => {
        if (spares.length > 0 || closed) resolve();
        else if (name === null || !ahead.begin(name, resolve)) addSpare(resolve);
      }),
    async close() {
      closed = true;
      await pool.close();
      await ahead.close();
      for (const spare of spares.splice(0)) await (await spare.catch(() => null))?.dispose();
      await keepers.close();
    },
    async check(): Promise<Problem[]> {
      standing = null;
      enforces.clear();
      // What was held ready relied on what is asked again now.
      await pool.drain();
      await ahead.close();
      return (await stand('really')).problems;
    },
    problems: async () => (await stand()).problems,
    async prepare(spec) {
      checkSpec(spec);
      checkMounts(spec, path => existsSync(path));
      const found = await usable();
      const held = holds(spec, found);
      refuseMissing('bubblewrap', held, spec.requires);
      const over = pool.busy();
      try {
        const handle = (await prepareWarm(spec, held, over)) ?? (await prepareCold(spec, held, found, over));
        live.set(handle.id, handle);
        return handle;
      } catch (error) {
        over();
        throw error;
      }
    },
    standIn: async () => null,
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
      for (const { id } of await leftovers(keepers.homes, owner => !isAlive(owner)))
        await removeTree(join(keepers.homes, id));
      return dead;
    },
  };
}

function hasJoined({ launcher }: Berth): Promise<boolean> {
  return launcher.joined().then(
    () => true,
    () => false,
  );
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

async function removeRun(id: string, options: Workings): Promise<void> {
  const directory = join(options.stateDir, 'runs', id);
  const helper = options.helper ?? findHelper();
  for (const at of [join(directory, 'disk'), join(directory, 'slots')])
    if (helper !== null && isMountPoint(at, directory)) await options.keeperOf(helper).unmount(at);
  await removeTree(directory);
}

function isMountPoint(path: string, parent: string): boolean {
  try {
    return lstatSync(path).dev !== lstatSync(parent).dev;
  } catch {
    return false; // not there
  }
}
