import { SkillboxError } from '../base/index.ts';
import { openEngine } from './docker-api.ts';
import { checkEngine, type EngineStanding } from './docker-check.ts';
import { prepareContainer } from './docker-container.ts';
import { findContainers, removeRun } from './docker-containers.ts';
import { engineFault } from './docker-engine.ts';
import { sweepImages } from './docker-image.ts';
import { leftoverHandle } from './leftover.ts';
import { isAlive, ownerOfId, sameOwner, thisOwner } from './owner.ts';
import {
  checkSpec,
  type Guarantee,
  type Handle,
  type Level,
  type RunSpec,
  refuseMissing,
  type Sandbox,
} from './sandbox.ts';
import type { UidRange } from './uids.ts';

export type DockerOptions = {
  socket: string;
  stateDir: string;
  uids: UidRange;
  /** The image for runs that ask for the host's interpreters. */
  defaultImage: string;
  runtime: string | null;
  helper: string | null;
};

/** Containers of a Docker or Podman engine, each with our PID 1 and our filter inside. */
export function createDocker(options: DockerOptions): Sandbox {
  const engine = openEngine(options.socket);
  const enforces = new Map<Guarantee, Level>();
  const live = new Map<string, Handle>();
  let checked: Promise<EngineStanding> | null = null;

  const check = async (): Promise<EngineStanding> => {
    enforces.clear();
    const standing = await checkEngine(engine, options);
    for (const [guarantee, level] of standing.enforces) enforces.set(guarantee, level);
    return standing;
  };

  return {
    name: 'docker',
    enforces,
    async check() {
      checked = check();
      return (await checked).problems;
    },
    async problems() {
      checked ??= check();
      return (await checked).problems;
    },
    async prepare(spec) {
      checkSpec(spec);
      checked ??= check();
      const { problems, workings } = await checked;
      const fatal = problems.find(problem => problem.fatal);
      if (fatal !== undefined || workings === null)
        throw new SkillboxError(
          'SANDBOX_UNAVAILABLE',
          `The docker sandbox cannot be used: ${fatal?.what ?? 'it was not examined'}.`,
          fatal?.fix ? { hint: fatal.fix } : {},
        );
      const held = heldFor(spec, enforces);
      refuseMissing('docker', held, spec.requires);
      const handle = await prepareContainer(spec, workings, held, id => live.delete(id));
      live.set(handle.id, handle);
      return handle;
    },
    async standIn() {
      const name = options.defaultImage;
      try {
        // Asked each time: a tag can be given to another image while we run.
        const { Id } = await engine.call<{ Id: string }>('GET', `/images/${encodeURIComponent(name)}/json`);
        return { name, digest: Id };
      } catch (error) {
        throw engineFault(`The engine does not say what the image ${name} is`, error);
      }
    },
    async list(owner) {
      if (sameOwner(owner, thisOwner())) return [...live.values()];
      return (await findContainers(engine)).flatMap(found => {
        const of = ownerOfId(found.id);
        return of !== null && sameOwner(of, owner)
          ? [leftoverHandle(found.id, of, () => removeRun(engine, options.stateDir, found))]
          : [];
      });
    },
    async sweep() {
      const dead: string[] = [];
      for (const found of await findContainers(engine)) {
        const owner = ownerOfId(found.id);
        if (owner === null || isAlive(owner)) continue;
        await removeRun(engine, options.stateDir, found);
        dead.push(found.id);
      }
      await sweepImages(engine);
      return dead;
    },
    warm: async () => undefined,
    close: async () => undefined,
  };
}

/** Whoever writes to a workspace is its owner, and nothing counts what it writes there. */
function heldFor(spec: RunSpec, enforces: ReadonlyMap<Guarantee, Level>): Map<Guarantee, Level> {
  const held = new Map(enforces);
  const writable = spec.mounts.filter(mount => mount.kind === 'bind' && mount.writable);
  if (writable.length === 0) return held;
  held.set('disk', 'none');
  held.set('identity', 'none');
  if (writable.some(mount => mount.kind === 'bind' && mount.protect === null)) held.set('workspace', 'none');
  return held;
}
