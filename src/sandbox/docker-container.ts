import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { DockerOptions } from './docker.ts';
import type { Engine } from './docker-api.ts';
import { deleteContainer, LABEL } from './docker-containers.ts';
import { type EngineFacts, engineFault, isMissing } from './docker-engine.ts';
import { canCompare, gatherFacts, holdWorkspaces, isWorkspace, ownerOfWritable } from './docker-facts.ts';
import { engineImage } from './docker-image.ts';
import { planContainer } from './docker-plan.ts';
import { carryOut, signal } from './docker-run.ts';
import { newId, thisOwner } from './owner.ts';
import { admitUnsearched } from './protect.ts';
import { imageUsed, placesOf, refuseLacking } from './runtime.ts';
import { type Guarantee, type Handle, type Level, type Outcome, type RunSpec, refuseMissing } from './sandbox.ts';
import { removeTree } from './state.ts';
import { takeUid } from './uids.ts';

/** What containers are made with, once the engine was asked. */
export type Workings = { engine: Engine; options: DockerOptions; helper: string; known: EngineFacts };

/** The engine's name or id of the image, and what a result says of it. */
async function imageFor(spec: RunSpec, { engine, options }: Workings): Promise<{ image: string; shown: string }> {
  if (spec.runtime.kind === 'host') return { image: options.defaultImage, shown: options.defaultImage };
  return { image: await engineImage(engine, spec.runtime, placesOf(spec)), shown: imageUsed(spec.runtime) };
}

/** Makes the container of one run. Nothing in it runs before `start`. */
export async function prepareContainer(
  spec: RunSpec,
  workings: Workings,
  held: Map<Guarantee, Level>,
  forget: (id: string) => void,
): Promise<Handle> {
  const { engine, options, helper, known } = workings;
  const { image, shown } = await imageFor(spec, workings);
  const id = newId(thisOwner());
  const directory = join(options.stateDir, 'containers', id);
  const undo: (() => Promise<unknown>)[] = [];
  const dispose = async () => {
    forget(id);
    const faults: unknown[] = [];
    for (let step = undo.pop(); step !== undefined; step = undo.pop())
      await step().catch((error: unknown) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  };
  try {
    await mkdir(directory, { mode: 0o700, recursive: true });
    undo.push(() => removeTree(directory));
    const workspaces = holdWorkspaces(spec);
    undo.push(async () => {
      for (const workspace of workspaces.values()) workspace.close();
    });
    const owner = await ownerOfWritable(spec, workspaces);
    const taken = process.getuid?.() === 0 && owner === null ? takeUid(options.uids) : null;
    if (taken !== null) undo.push(async () => taken.release());
    const user = owner ?? {
      uid: taken?.uid ?? process.getuid?.() ?? 65534,
      gid: taken?.uid ?? process.getgid?.() ?? 65534,
    };
    const { runtime } = options;
    const labels = { [LABEL]: id };
    const facts = await gatherFacts(
      spec,
      directory,
      { image, engine: known.kind, runtime, user, helper, labels },
      workspaces,
    );
    admitUnsearched(facts.protections, held, spec.requires);
    if (!canCompare() && spec.mounts.some(isWorkspace)) held.set('workspace', 'none'); // it may be another
    refuseMissing('docker', held, spec.requires);
    const { Id: container } = await engine
      .call<{ Id: string }>('POST', `/containers/create?name=${id}`, planContainer(spec, facts))
      .catch((error: unknown) => {
        if (!isMissing(error)) throw engineFault('The container could not be made', error);
        throw new SkillboxError('IMAGE_MISSING', `The engine has no image ${shown}.`, {
          hint:
            spec.runtime.kind === 'host'
              ? `${known.kind} pull ${image}`
              : 'It was removed meanwhile; the next run loads it.',
          cause: error,
        });
      });
    undo.push(() => deleteContainer(engine, container));
    let started = false;
    let over: Promise<unknown> = Promise.resolve();
    const wanted = { dead: false };
    return {
      id,
      owner: thisOwner(),
      async start(io) {
        if (started || undo.length === 0)
          throw new SkillboxError('INTERNAL', `The run ${id} was started twice, or after its end.`);
        started = true;
        const carried = carryOut(engine, container, spec, facts, io, wanted, join(options.stateDir, 'quarantine', id));
        over = carried.catch(() => undefined); // told to whoever started it
        const result = await carried;
        refuseLacking(spec, result, shown);
        const path = spec.argv[0] ?? '';
        return { ...result, runtime: { name: path, version: null, from: shown, path }, held } satisfies Outcome;
      },
      async kill() {
        wanted.dead = true;
        await signal(engine, container, 'SIGKILL');
        await over;
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
