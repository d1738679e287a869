import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { type Engine, EngineError, openEngine } from './docker-api.ts';
import { engineImage, sweepImages } from './docker-image.ts';
import { type DockerFacts, planContainer } from './docker-plan.ts';
import { carryOut, signal } from './docker-run.ts';
import { findHelper } from './helper.ts';
import { leftoverHandle } from './leftover.ts';
import { isAlive, newId, ownerOfId, sameOwner, thisOwner } from './owner.ts';
import { seenInside } from './probe-levels.ts';
import { type ProtectionPlan, planProtection } from './protect.ts';
import { imageUsed, placesOf } from './runtime.ts';
import {
  checkSpec,
  type Guarantee,
  type Handle,
  type Level,
  type Outcome,
  type Problem,
  type RunSpec,
  refuseMissing,
  type Sandbox,
} from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makePrivate, removeTree } from './state.ts';
import { takeUid, type UidRange } from './uids.ts';

export type DockerOptions = {
  socket: string;
  stateDir: string;
  uids: UidRange;
  /** The image for runs that ask for the host's interpreters (X-14). */
  defaultImage: string;
  runtime: string | null;
  helper: string | null;
};

const LABEL = 'dev.skillbox.run';

/** Containers of a Docker or Podman engine, each with our PID 1 and our filter inside. */
export function createDocker(options: DockerOptions): Sandbox {
  const engine = openEngine(options.socket);
  const enforces = new Map<Guarantee, Level>();
  const live = new Map<string, Handle>();
  let checked: Promise<Problem[]> | null = null;

  const check = async (): Promise<Problem[]> => {
    enforces.clear();
    const fatal = (what: string, fix: string | null): Problem[] => [{ what, fix, fatal: true }];
    const helper = options.helper ?? findHelper();
    if (helper === null) return fatal('the static helper is not there', 'node scripts/build-helper.mjs');
    try {
      await engine.call('GET', '/_ping');
      await engine.call('GET', `/images/${encodeURIComponent(options.defaultImage)}/json`);
    } catch (error) {
      if (error instanceof EngineError && error.status === 404)
        return fatal(
          `the image ${options.defaultImage} is not there`,
          `docker pull ${options.defaultImage}, or name another with SKILLBOX_DOCKER_IMAGE`,
        );
      return fatal(
        error instanceof Error ? error.message : String(error),
        'Start the engine, and give this account access to its socket.',
      );
    }
    await makePrivate(join(options.stateDir, 'containers'));
    const enough = new Map<Guarantee, Level>();
    try {
      const handle = await prepareContainer(PROBE, engine, options, helper, enough, () => undefined);
      try {
        const outcome = await handle.start({ stdin: null, onChunk: null, keepBytes: 1 << 16, signal: null });
        const info = await engine.call<Record<string, unknown>>('GET', '/info');
        for (const [guarantee, level] of levels(outcome.stdout.text.toString('utf8'), info))
          enforces.set(guarantee, level);
      } finally {
        await handle.dispose();
      }
    } catch (error) {
      return fatal(`a probe did not start: ${error instanceof Error ? error.message : String(error)}`, null);
    }
    const open = (['files', 'network', 'processes', 'syscalls', 'privileges'] as const).filter(
      guarantee => enforces.get(guarantee) === 'none',
    );
    return open.map(guarantee => ({ what: `the probe found ${guarantee} open`, fix: null, fatal: true }));
  };

  return {
    name: 'docker',
    enforces,
    check() {
      checked = check();
      return checked;
    },
    problems() {
      checked ??= check();
      return checked;
    },
    async prepare(spec) {
      checkSpec(spec);
      checked ??= check();
      const fatal = (await checked).find(problem => problem.fatal);
      const helper = options.helper ?? findHelper();
      if (fatal !== undefined || helper === null)
        throw new SkillboxError(
          'SANDBOX_UNAVAILABLE',
          `The docker sandbox cannot be used: ${fatal?.what ?? 'no helper'}.`,
          fatal?.fix ? { hint: fatal.fix } : {},
        );
      const held = new Map(enforces);
      if (spec.mounts.some(mount => mount.kind === 'bind' && mount.writable)) {
        held.set('disk', 'none');
        held.set('identity', 'none');
        if (spec.mounts.some(mount => mount.kind === 'bind' && mount.writable && mount.protect === null))
          held.set('workspace', 'none');
      }
      refuseMissing('docker', held, spec.requires);
      const handle = await prepareContainer(spec, engine, options, helper, held, id => live.delete(id));
      live.set(handle.id, handle);
      return handle;
    },
    async list(owner) {
      if (sameOwner(owner, thisOwner())) return [...live.values()];
      const found = await containers(engine);
      return found.flatMap(({ id, container }) => {
        const of = ownerOfId(id);
        return of !== null && sameOwner(of, owner)
          ? [leftoverHandle(id, of, () => remove(engine, options, id, container))]
          : [];
      });
    },
    async sweep() {
      const dead: string[] = [];
      for (const { id, container } of await containers(engine)) {
        const owner = ownerOfId(id);
        if (owner === null || isAlive(owner)) continue;
        await remove(engine, options, id, container);
        dead.push(id);
      }
      await sweepImages(engine);
      return dead;
    },
    warm: async () => undefined,
    close: async () => undefined,
  };
}

const PROBE: RunSpec = {
  argv: ['/.skillbox/helper', 'probe'],
  cwd: '/',
  env: {},
  mounts: [],
  limits: {
    timeMs: 20_000,
    graceMs: 0,
    cpus: 1,
    memoryBytes: 64 << 20,
    pids: 8,
    openFiles: 64,
    fileBytes: 1 << 20,
    diskBytes: 1 << 20,
    outputBytes: 1 << 16,
  },
  network: { kind: 'none' },
  runtime: { kind: 'host', also: [] },
  tenant: null,
  requires: new Map(),
};

function levels(probe: string, info: Record<string, unknown>): Map<Guarantee, Level> {
  const seen = new Map(
    probe.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const tree = (holds: boolean): Level => (holds ? 'kernel-tree' : 'none');
  return new Map<Guarantee, Level>([
    ...seenInside(seen),
    ['workspace', 'polled'],
    ['time', 'kernel-tree'],
    ['cpu', tree(info.CpuCfsQuota === true)],
    ['memory', tree(info.MemoryLimit === true)],
    ['pids', tree(info.PidsLimit === true)],
    ['open-files', 'kernel-process'],
    ['file-size', 'kernel-process'],
    ['disk', 'polled'],
    ['output', 'kernel-tree'],
  ]);
}

/** The engine's name or id of the image, and what a result says of it. */
async function imageFor(
  spec: RunSpec,
  engine: Engine,
  options: DockerOptions,
): Promise<{ image: string; shown: string }> {
  if (spec.runtime.kind === 'host') return { image: options.defaultImage, shown: options.defaultImage };
  return { image: await engineImage(engine, spec.runtime, placesOf(spec)), shown: imageUsed(spec.runtime) };
}

async function prepareContainer(
  spec: RunSpec,
  engine: Engine,
  options: DockerOptions,
  helper: string,
  held: Map<Guarantee, Level>,
  forget: (id: string) => void,
): Promise<Handle> {
  const { image, shown } = await imageFor(spec, engine, options);
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
    const owner = await ownerOfWritable(spec);
    const taken = process.getuid?.() === 0 && owner === null ? takeUid(options.uids) : null;
    if (taken !== null) undo.push(async () => taken.release());
    const user = owner ?? {
      uid: taken?.uid ?? process.getuid?.() ?? 65534,
      gid: taken?.uid ?? process.getgid?.() ?? 65534,
    };
    const facts = await gatherFacts(
      spec,
      directory,
      { image, runtime: options.runtime, user, helper, labels: { [LABEL]: id } },
      process.getuid?.() === 0,
    );
    // A tree too large to look through may hold a secret that is not hidden.
    if ([...facts.protections.values()].some(plan => !plan.complete)) held.set('workspace', 'none');
    refuseMissing('docker', held, spec.requires);
    const body = planContainer(spec, facts);
    const { Id: container } = await engine
      .call<{ Id: string }>('POST', `/containers/create?name=${id}`, body)
      .catch((error: unknown) => {
        if (error instanceof EngineError && error.status === 404)
          throw new SkillboxError('IMAGE_MISSING', `The engine has no image ${shown}.`, {
            hint:
              spec.runtime.kind === 'host'
                ? `docker pull ${image}`
                : 'It was removed meanwhile; the next run loads it.',
            cause: error,
          });
        throw new SkillboxError(
          'SANDBOX_FAILED',
          `The container could not be made: ${error instanceof Error ? error.message : String(error)}.`,
          { cause: error },
        );
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

/**
 * The engine has no id-mapped mounts: whoever writes to a workspace must be its owner. Root would be root on the host's
 * files, so a workspace of root's is refused.
 */
async function ownerOfWritable(spec: RunSpec): Promise<{ uid: number; gid: number } | null> {
  for (const mount of spec.mounts) {
    if (mount.kind !== 'bind' || !(mount.writable || mount.protect !== null)) continue;
    const info = await lstat(mount.source);
    if (info.isSymbolicLink()) continue; // refused later, for that reason
    const { uid, gid } = info;
    if (uid === 0 && !mount.writable) continue;
    if (uid === 0)
      throw new SkillboxError(
        'SANDBOX_CANNOT_ENFORCE',
        `The docker sandbox cannot write to ${mount.source}, which belongs to root, without being root.`,
        {
          hint: 'Use the bubblewrap sandbox, or a workspace that belongs to an ordinary user.',
        },
      );
    return { uid, gid };
  }
  return null;
}

type Known = Pick<DockerFacts, 'image' | 'runtime' | 'user' | 'helper' | 'labels'>;

async function gatherFacts(spec: RunSpec, directory: string, known: Known, chownFiles: boolean): Promise<DockerFacts> {
  const files = new Map<string, string>();
  const protections = new Map<string, ProtectionPlan>();
  const directories = new Set<string>();
  const masks = { file: join(directory, 'mask'), directory: join(directory, 'mask.d') };
  await writeFile(masks.file, '', { mode: 0 });
  await mkdir(masks.directory, { mode: 0 });
  const own = async (path: string) => {
    if (chownFiles) await chown(path, known.user.uid, known.user.gid);
  };
  for (const [index, mount] of spec.mounts.entries()) {
    const path = join(directory, String(index));
    if (mount.kind === 'text') {
      await writeFile(path, mount.text, { mode: 0o400 });
      await own(path);
      files.set(mount.at, path);
    } else if (mount.kind === 'out') {
      for (const made of [path, ...mount.directories.map(name => join(path, name))]) {
        await mkdir(made, { mode: 0o700 });
        await own(made);
      }
      files.set(mount.at, path);
    } else if (mount.kind === 'bind') {
      const real = await realpath(mount.source).catch(() => null); // not there: the same refusal
      if (real !== mount.source)
        throw new SkillboxError(
          real === null ? 'NOT_FOUND' : 'INTERNAL',
          `The mount source ${mount.source} is ${real === null ? 'not there' : `a link to ${real}`}.`,
        );
      if (mount.protect === null) continue;
      const plan = await planProtection(mount.source, mount.protect);
      protections.set(mount.at, plan);
      for (const hidden of plan.hidden)
        if ((await lstat(join(mount.source, hidden))).isDirectory()) directories.add(join(mount.source, hidden));
    }
  }
  // The engine mounts by path as root; the run's directory stays closed to everyone else.
  await chmod(directory, 0o700);
  return {
    ...known,
    masks,
    filter: filterFor(process.arch),
    nonce: randomBytes(24).toString('hex'),
    files,
    protections,
    directories,
  };
}

async function deleteContainer(engine: Engine, container: string): Promise<void> {
  try {
    await engine.call('DELETE', `/containers/${container}?force=1&v=1`);
  } catch (error) {
    if (!(error instanceof EngineError && error.status === 404)) throw error;
  }
}

async function containers(engine: Engine): Promise<{ id: string; container: string }[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [LABEL] }));
  const found = await engine.call<{ Id: string; Labels: Record<string, string> }[]>(
    'GET',
    `/containers/json?all=1&filters=${filters}`,
  );
  return found.map(({ Id, Labels }) => ({ id: Labels[LABEL] ?? '', container: Id }));
}

async function remove(engine: Engine, options: DockerOptions, id: string, container: string): Promise<void> {
  await deleteContainer(engine, container);
  await removeTree(join(options.stateDir, 'containers', id));
}
