import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, markUsed, SkillboxError } from '../base/index.ts';
import type { Egress } from '../egress/index.ts';
import {
  isAlive,
  type Limits,
  newOwnedId,
  ownerOfId,
  type Requires,
  removeTree,
  type Sandbox,
  takeLock,
  thisOwner,
} from '../sandbox/index.ts';
import { type IndexSettings, type PackageIndex, resolveIndex } from './index-settings.ts';
import type { Inside } from './inside.ts';
import { type Allowed, inputKey, type KeyFacts, type Lock } from './lock.ts';
import type { Manager, Manifest } from './manifest.ts';
import type { Workshop } from './step.ts';
import { type HostTool, hostTool, identify, imageOf, interpreterFor, type Programs, type Root } from './tools.ts';

export type LayerOptions = {
  /** `<data>/layers`. */
  directory: string;
  sandbox: Sandbox;
  programs: Programs;
  indexes: IndexSettings;
  /** Source packages and install scripts run a stranger's code at build time; both are off unless configured. */
  allow: Allowed;
  limits: Limits;
  requires: Requires;
};

export type LayerRequest = Root & {
  manifest: Manifest;
  /** PATH of the runtime: an image knows where its programs are. */
  path: string;
  /** Where the interpreter is that the run will have, when its name alone would lead to another one, or to none. */
  interpreter?: string | null;
  tenant: string;
};

export type Layer = { manager: Manager; key: string /** To mount, read-only. */; path: string; built: boolean };

export type LayerHooks = {
  /** The package manager's last line, or what is waited for. */
  onProgress: (manager: Manager, line: string) => void;
  signal: AbortSignal | null;
};

export interface Layers {
  /** The layer if it is there; builds nothing and reaches nothing. */
  find(request: LayerRequest): Promise<Layer | null>;
  /** SB-07: the layer, built once if it is not there. */
  ensure(request: LayerRequest, hooks: LayerHooks): Promise<Layer>;
  /** Removes what dead processes left half done. */
  sweep(): Promise<void>;
}

type LayerRecord = { key: string; lock: Lock };

const POLL_MS = 100;
const FOLDERS: Record<Manager, string> = { pip: 'site-packages', npm: 'node_modules' };

export function createLayers(options: LayerOptions): Layers {
  const { directory } = options;
  const indexes = JSON.stringify(options.indexes);

  const describe = async ({ manifest, runtime, standIn, tenant, interpreter }: LayerRequest) => {
    const identity = await identify(manifest.manager, { runtime, standIn }, options.programs, interpreter ?? null);
    const facts: KeyFacts = { identity, tenant, allow: options.allow };
    return { facts, input: inputKey(manifest, indexes, facts) };
  };
  const layerAt = (manager: Manager, key: string, built: boolean): Layer | null => {
    const path = join(directory, key, FOLDERS[manager]);
    return existsSync(path) && markUsed(join(directory, key)) ? { manager, key, path, built } : null;
  };
  const findRecorded = async (manager: Manager, input: string): Promise<Layer | null> => {
    const record = await readRecord(directory, input);
    return record === null ? null : layerAt(manager, record.key, false);
  };

  const build = async (request: LayerRequest, facts: KeyFacts, input: string, hooks: LayerHooks): Promise<Layer> => {
    const { manifest } = request;
    const { manager } = manifest;
    const work = join(directory, 'work', newOwnedId(thisOwner()));
    await mkdir(work, { recursive: true, mode: 0o700 });
    const bench = openWorkshop(options, request, work, hooks);
    try {
      const recorded = await readRecord(directory, input);
      const target = (key: string) => join(directory, key);
      // Only here: most runs need no layer, or find it.
      const { buildLayer } = await import('./build.ts');
      const made = await buildLayer(bench.workshop, manifest, facts, recorded?.lock ?? null, {
        aside: join(work, 'layer'),
        folder: FOLDERS[manager],
        target,
        exists: key => layerAt(manager, key, false) !== null,
      });
      await writeRecord(directory, input, made);
      const layer = layerAt(manager, made.key, true);
      if (layer === null) throw new SkillboxError('INTERNAL', `the layer ${made.key} is not where it was put`);
      return layer;
    } finally {
      await bench.close();
      await removeTree(work);
    }
  };

  return {
    async find(request) {
      const { input } = await describe(request);
      return findRecorded(request.manifest.manager, input);
    },
    async ensure(request, hooks) {
      const { manager } = request.manifest;
      const { facts, input } = await describe(request);
      const there = await findRecorded(manager, input);
      if (there !== null) return there;
      await mkdir(directory, { recursive: true, mode: 0o755 });
      const held = await waitForLock(options, input, hooks, manager, () => findRecorded(manager, input));
      if ('layer' in held) return held.layer;
      try {
        return (await findRecorded(manager, input)) ?? (await build(request, facts, input, hooks));
      } finally {
        held.release();
      }
    },
    async sweep() {
      const work = join(directory, 'work');
      for (const name of await readdir(work).catch(() => [])) {
        const owner = ownerOfId(name);
        if (owner !== null && !isAlive(owner)) await removeTree(join(work, name));
      }
    },
  };
}

/** Runs that need the same layer build it once, in this process or another: the others wait for it. */
async function waitForLock(
  options: LayerOptions,
  input: string,
  hooks: LayerHooks,
  manager: Manager,
  find: () => Promise<Layer | null>,
): Promise<{ release(): void } | { layer: Layer }> {
  // Longer than any build takes. The lock only saves work: a layer that two publish is one layer.
  const giveUp = Date.now() + 3 * options.limits.timeMs;
  for (;;) {
    const lock = takeLock(join(options.directory, 'locks'), input);
    if (lock !== null) return lock;
    hooks.onProgress(manager, 'waiting for another run that builds the same');
    await sleep(POLL_MS);
    if (hooks.signal?.aborted) throw new SkillboxError('DEPENDENCIES_FAILED', 'the wait for the layer was canceled');
    const layer = await find();
    if (layer !== null) return { layer };
    if (Date.now() > giveUp) return { release: () => undefined };
  }
}

function openWorkshop(options: LayerOptions, request: LayerRequest, work: string, hooks: LayerHooks) {
  const { manager } = request.manifest;
  let index: Promise<PackageIndex> | null = null;
  let egress: Promise<Egress> | null = null;
  let inside: Promise<Inside> | null = null;
  const findIndex = () => {
    index ??= toolToAsk(manager, options).then(tool => resolveIndex(manager, options.indexes, tool));
    return index;
  };
  const workshop: Workshop = {
    sandbox: options.sandbox,
    runtime: request.runtime,
    path: request.path,
    programs: options.programs,
    interpreter: request.interpreter ?? interpreterFor(manager),
    limits: options.limits,
    requires: options.requires,
    inside: () => {
      const image = imageOf(request);
      if (image === null) return Promise.resolve(null);
      inside ??= import('./inside.ts').then(({ lookInside }) => lookInside(workshop, manager, image.name));
      return inside;
    },
    index: findIndex,
    egress: () => {
      egress ??= findIndex().then(async ({ rules }) => {
        const { DEFAULT_EGRESS_LIMITS, startEgress } = await import('../egress/index.ts');
        return startEgress(join(work, 'egress'), rules, DEFAULT_EGRESS_LIMITS);
      });
      return egress;
    },
    onLine: line => hooks.onProgress(manager, line),
    signal: hooks.signal,
  };
  const close = async () => {
    await (await egress?.catch(() => null))?.close();
  };
  return { workshop, close };
}

/** Whoever is asked for the index where none is configured: the host's own, since an image's author must not choose it. */
async function toolToAsk(manager: Manager, { indexes, programs }: LayerOptions): Promise<HostTool | null> {
  if (indexes[manager] !== null) return null;
  try {
    return await hostTool(manager, programs);
  } catch (cause) {
    throw new SkillboxError('DEPENDENCIES_FAILED', `there is no ${manager} on this host to say which index it uses`, {
      hint: `Set ${manager === 'pip' ? 'SKILLBOX_PIP_INDEX_URL' : 'SKILLBOX_NPM_REGISTRY'}, or install ${manager} on this host.`,
      cause,
    });
  }
}

async function readRecord(directory: string, input: string): Promise<LayerRecord | null> {
  const path = join(directory, 'inputs', `${input}.json`);
  try {
    const read = JSON.parse(await readFile(path, 'utf8')) as Partial<LayerRecord> | null;
    const { key, lock } = read ?? {};
    if (typeof key === 'string' && typeof lock?.text === 'string') return { key, lock };
    throw new Error('it is no record');
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    // Not resolved anew by itself: which packages a skill has would change without anybody's word.
    // The path in the hint: the message is told to callers of a server.
    throw new SkillboxError('UNREADABLE', 'cannot read which packages were built before', {
      hint: `Remove ${path}; the next run resolves the packages anew, maybe to newer versions.`,
      cause,
    });
  }
}

async function writeRecord(directory: string, input: string, record: LayerRecord): Promise<void> {
  const inputs = join(directory, 'inputs');
  await mkdir(inputs, { recursive: true, mode: 0o700 });
  const aside = join(inputs, `.${newOwnedId(thisOwner())}`);
  await writeFile(aside, JSON.stringify({ key: record.key, lock: record.lock }), { flag: 'wx', mode: 0o600 });
  await rename(aside, join(inputs, `${input}.json`));
}
