import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { Workings } from './bubblewrap.ts';
import type { Berth, Place, Usable } from './bubblewrap-berth.ts';
import type { Standing } from './bubblewrap-check.ts';
import { gatherFacts } from './bubblewrap-facts.ts';
import { type Facts, planRun } from './bubblewrap-plan.ts';
import { carryOut, type Finished, type Meters } from './bubblewrap-run.ts';
import { overDisk } from './disk.ts';
import { guardWorkspaces } from './guard.ts';
import { thisOwner } from './owner.ts';
import { admitUnsearched } from './protect.ts';
import { imageUsed, refuseLacking } from './runtime.ts';
import {
  type Guarantee,
  type Handle,
  type Level,
  type Outcome,
  type RunIo,
  type RunSpec,
  type RuntimeUsed,
  refuseMissing,
} from './sandbox.ts';

/** A sandbox laid out for a run, and how to let the run begin in it. */
export type Laid = { berth: Berth; facts: Facts; begin: () => void };
export type Tell = { ended: () => void; disposed: () => void };

/** The berth's limits, files and mounts, before anything is started in it. */
export async function layOut(spec: RunSpec, found: Usable, place: Place, options: Workings): Promise<Facts> {
  place.cgroup?.limit(spec.limits);
  const facts = await gatherFacts(spec, found, options, place.directory, place.uid, usesTmpfs(spec, found));
  if (facts.outTmpfs !== null) {
    const at = facts.outTmpfs;
    place.before.push(() => options.keeperOf(found.tools.helper).unmount(at));
  }
  return facts;
}

/** The cold path: everything is made for this run. */
export async function prepareRun(
  spec: RunSpec,
  held: Map<Guarantee, Level>,
  found: Usable,
  berth: Berth,
  options: Workings,
  tell: Tell,
): Promise<Handle> {
  try {
    const facts = await layOut(spec, found, berth, options);
    admitUnsearched(facts.protections, held, spec.requires);
    refuseMissing('bubblewrap', held, spec.requires);
    const plan = planRun(spec, facts);
    const begin = () => {
      berth.launcher.send(plan.launch);
      berth.launcher.send(plan.init);
    };
    return handleOf(spec, held, { berth, facts, begin }, options, tell);
  } catch (error) {
    tell.disposed();
    await berth.dispose().catch(() => undefined); // the first fault is the one to tell
    throw error;
  }
}

export function handleOf(
  spec: RunSpec,
  held: ReadonlyMap<Guarantee, Level>,
  { berth, facts, begin }: Laid,
  options: Workings,
  tell: Tell,
): Handle {
  const { id, launcher } = berth;
  const used = runtimeOf(spec, facts);
  let disposed = false;
  let startedAlready = false;
  return {
    id,
    owner: thisOwner(),
    async start(io: RunIo): Promise<Outcome> {
      if (startedAlready || disposed)
        throw new SkillboxError('INTERNAL', `The run ${id} was started twice, or after its end.`);
      startedAlready = true;
      const guard = await guardWorkspaces(spec, facts.protections, join(options.stateDir, 'quarantine', id));
      const meters = metersOf(spec, facts, berth, () => guard.during());
      let finished: Finished;
      try {
        finished = await carryOut(launcher, begin, spec.limits, io, meters);
      } finally {
        tell.ended();
        // Also where nobody knows how it ended: it may have run all the same.
        await guard.after();
      }
      const { end, streams, durationMs, usage } = finished;
      if (spec.runtime.kind === 'image') refuseLacking(spec, { end, ...streams }, used.from);
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
    async dispose() {
      disposed = true;
      tell.disposed();
      await berth.dispose();
    },
  };
}

function runtimeOf({ runtime, argv }: RunSpec, facts: Facts): RuntimeUsed {
  const [name = ''] = argv;
  if (runtime.kind === 'image') return { name, version: null, from: imageUsed(runtime), path: name };
  return facts.programs[0]?.used ?? { name, version: null, from: 'host', path: name };
}

/** tmpfs pages count as the run's memory: past half of it a full disk would be an OOM kill. */
export function usesTmpfs(spec: RunSpec, found: Standing): boolean {
  return found.outTmpfs && spec.limits.diskBytes <= spec.limits.memoryBytes / 2;
}

/** What this spec's run has, which may be less than the host's best. */
export function holds(spec: RunSpec, found: Standing): Map<Guarantee, Level> {
  const held = new Map(found.enforces);
  const writable = spec.mounts.some(mount => mount.kind === 'bind' && mount.writable);
  if (writable) held.set('disk', 'none');
  if (spec.mounts.some(mount => mount.kind === 'bind' && mount.writable && mount.protect === null))
    held.set('workspace', 'none');
  else if (!usesTmpfs(spec, found) && held.get('disk') === 'kernel-tree') held.set('disk', 'polled');
  return held;
}

function metersOf(spec: RunSpec, facts: Facts, { cgroup, launcher }: Berth, tick: () => Promise<void>): Meters {
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
      const { exited, signaled, initPid } = launcher.report;
      return overDisk(outs, spec.limits.diskBytes, exited === null && signaled === null ? initPid : null);
    },
    tick,
  };
}
