import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Workings } from './bubblewrap.ts';
import { type Berth, makeBerth, type Place, type Usable } from './bubblewrap-berth.ts';
import { layOut } from './bubblewrap-handle.ts';
import type { Facts, Plan } from './bubblewrap-plan.ts';
import { planSpare, type SlotsInMemory } from './bubblewrap-spare.ts';
import { resolveProgram } from './runtime.ts';
import type { RunSpec, SandboxMount } from './sandbox.ts';
import { bootFile } from './warm-boot.ts';
import { type Fill, fillSlot, isLinkable, makeSlot } from './warm-files.ts';
import type { Pooled } from './warm-pool.ts';
import { type Shape, shapeOf, type Warmable } from './warm-shape.ts';

const BOOT_MS = 20_000;

/** A whole sandbox ahead of its run: a berth of its own, mounts made, PID 1 locked down, the interpreter waiting. */
export type Spare = Pooled & {
  berth: Berth;
  facts: Facts;
  shape: Shape;
  /** Its slots belong to the run's own uid, and so does what is put there. */
  inMemory: boolean;
};

/** Null when the run cannot be served exactly. */
export async function warmableOf(spec: RunSpec, options: Workings): Promise<Warmable | null> {
  const [name = ''] = spec.argv;
  const { network, runtime } = spec;
  const names = runtime.kind === 'image' ? [] : [...(name.includes('/') ? [] : [name]), ...runtime.also];
  try {
    if (network.kind === 'egress' && !isLinkable(network.socket, join(options.stateDir, 'runs'))) return null;
    const programs = await Promise.all(names.map(wanted => resolveProgram(wanted, options.search, options.stateDir)));
    return shapeOf(spec, programs);
  } catch (error) {
    // A program or a source that is not there: the cold path says so in its own words.
    if (error instanceof SkillboxError || errnoOf(error) !== undefined) return null;
    throw error;
  }
}

/** `told`: what is left to wait for needs nothing of this process. `signal` gives it up, however far it is. */
export async function startSpare(
  shape: Shape,
  found: Usable,
  options: Workings,
  told: () => void = () => {},
  signal: AbortSignal | null = null,
): Promise<Spare> {
  const { berth, done } = await makeBerth(found, options, place => laySpare(shape, found, place, options));
  const { launcher } = berth;
  const kill = () => launcher.kill();
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', kill, { once: true });
    launcher.send(done.plan.launch);
    launcher.send(done.plan.init);
    told();
    const up = await Promise.race([launcher.parked, sleep(BOOT_MS, false, { ref: false })]);
    if (!up) throw new SkillboxError('SANDBOX_FAILED', `A spare sandbox did not start: ${launcher.report.error}.`);
    launcher.idle(true);
    return {
      berth,
      facts: done.facts,
      shape,
      inMemory: done.inMemory,
      // What waited may be dead before all around it is.
      alive: () => !launcher.ended() && launcher.report.exited === null && launcher.report.signaled === null,
      gone: launcher.gone,
      dispose: () => berth.dispose(),
    };
  } catch (error) {
    await berth.dispose().catch(() => undefined); // the first fault is the one to tell
    throw error;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}

async function laySpare(
  shape: Shape,
  found: Usable,
  place: Place,
  options: Workings,
): Promise<{ facts: Facts; plan: Plan; inMemory: boolean }> {
  const spec = spareSpec(shape, place.directory, options);
  makeSlot(join(place.directory, 'slots'), []);
  for (const { at, places } of shape.slots) makeSlot(slotPath(place, at), places);
  const facts = await layOut(spec, found, place, options);
  const slots = slotsInMemory(shape, found, place);
  if (slots !== null) place.before.push(() => options.keeperOf(found.tools.helper).unmount(slots.at));
  const plan = planSpare(spec, facts, shape.boot, shape.bridge?.at ?? null, slots, options.warm.inAll > 0);
  return { facts, plan, inMemory: slots !== null };
}

/** The run's files, copied where the sandbox sees them read-only; and where the host finds the texts among them. */
export function fillSpare({ berth, facts, shape, inMemory }: Spare, fills: Warmable['fills']): Facts {
  const files = new Map(facts.files);
  for (const { at } of shape.slots) {
    const slot = slotPath(berth, at);
    const all: readonly Fill[] = fills.get(at) ?? [];
    fillSlot(slot, all, inMemory ? berth.uid : null);
    for (const fill of all) if (fill.kind === 'text') files.set(`${at}/${fill.at}`, join(slot, fill.at));
  }
  return { ...facts, files };
}

/**
 * On a disk every file that is made waits for the file system's journal. Only where a launcher may mount on the host, which is
 * as root; and not where a socket must be linked, which only goes within one file system, or a place is a file.
 */
function slotsInMemory({ slots, bridge }: Shape, found: Usable, place: Place): SlotsInMemory | null {
  if (!found.outTmpfs || place.uid === null || bridge !== null) return null;
  if (slots.some(({ places }) => places.some(({ kind }) => kind === 'file'))) return null;
  const paths = slots.flatMap(({ at, places }) => [
    at,
    ...places.flatMap(({ path }) => withParents(`${at}/${path}`, at)),
  ]);
  return { at: join(place.directory, 'slots'), directories: [...new Set(paths)].map(at => slotPath(place, at)) };
}

/** `/a/b/c` below `/a`: `/a/b`, then `/a/b/c`. */
function withParents(path: string, above: string): string[] {
  return path === above ? [] : [...withParents(dirname(path), above), path];
}

function slotPath({ directory }: { directory: string }, at: string): string {
  return join(directory, 'slots', at.slice(1));
}

/** What is known of the run already, as a spec of its own. */
function spareSpec(shape: Shape, directory: string, options: Workings): RunSpec {
  const readOnly = (source: string, at: string): SandboxMount => ({
    kind: 'bind',
    source,
    at,
    writable: false,
    exec: true,
    protect: null,
  });
  const mounts = shape.slots.map(({ at }) => readOnly(slotPath({ directory }, at), at));
  let { argv, env } = shape;
  if (shape.boot !== 'exec') {
    const { source, at } = bootFile(options.stateDir, shape.boot);
    mounts.push(readOnly(source, at));
    if (shape.boot === 'bash') env = { ...env, BASH_ENV: at };
    else argv = [...argv, at];
  }
  const { limits, runtime, tenant } = shape.around;
  return {
    argv,
    cwd: '/',
    env,
    mounts: [...mounts, ...shape.mounts],
    limits,
    network: { kind: 'none' }, // a bridge may stand, but leads nowhere yet
    runtime,
    tenant,
    requires: new Map(),
  };
}
