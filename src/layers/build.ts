import { join } from 'node:path';
import type { Handle } from '../sandbox/index.ts';
import { installPackages, resolvePackages } from './build-npm.ts';
import { downloadWheels, installWheels } from './build-python.ts';
import { type KeyFacts, type Lock, layerKey } from './lock.ts';
import type { Manifest } from './manifest.ts';
import { publishTree } from './publish.ts';
import { OUT, type Workshop } from './step.ts';

export type Shelf = {
  /** Where the layer is put together, on the file system of its target. */
  aside: string;
  /** The folder in it: site-packages, node_modules. */
  folder: string;
  target: (key: string) => string;
  exists: (key: string) => boolean;
};

/** Resolves, unless a lock is known, and builds, unless the lock's layer is there. */
export async function buildLayer(
  workshop: Workshop,
  manifest: Manifest,
  facts: KeyFacts,
  recorded: Lock | null,
  shelf: Shelf,
): Promise<{ key: string; lock: Lock }> {
  // First: without a package manager there is nothing to fetch for.
  const inside = await workshop.inside();
  const finish = async (lock: Lock, install: () => Promise<Handle>) => {
    const key = layerKey(manifest, lock, facts);
    if (shelf.exists(key)) return { key, lock };
    const handle = await install();
    try {
      const about = {
        manager: manifest.manager,
        key,
        identity: facts.identity,
        lock: lock.text,
        hashed: lock.hashed,
        ...(inside === null ? {} : { tools: inside.versions }),
      };
      await publishTree(join(handle.path(OUT), shelf.folder), shelf.folder, shelf.aside, shelf.target(key), about);
    } finally {
      await handle.dispose();
    }
    return { key, lock };
  };
  return manifest.manager === 'pip'
    ? buildPython(workshop, manifest.requirements, facts, recorded, finish)
    : buildNode(workshop, manifest, facts, recorded, finish);
}

type Finish = (lock: Lock, install: () => Promise<Handle>) => Promise<{ key: string; lock: Lock }>;

async function buildPython(
  workshop: Workshop,
  requirements: string,
  facts: KeyFacts,
  recorded: Lock | null,
  finish: Finish,
) {
  // A lock of wheels that were built here names files that no index has.
  const known = recorded?.hashed === true ? recorded : null;
  const { lock, wheels } = await downloadWheels(workshop, requirements, known, facts.allow.sources && known === null);
  try {
    return await finish(lock, () => installWheels(workshop, lock, wheels));
  } finally {
    await wheels.dispose();
  }
}

async function buildNode(
  workshop: Workshop,
  { packageJson, lock: own }: Extract<Manifest, { manager: 'npm' }>,
  facts: KeyFacts,
  recorded: Lock | null,
  finish: Finish,
) {
  const lock = own ?? recorded ?? (await resolvePackages(workshop, packageJson));
  return finish(lock, () => installPackages(workshop, packageJson, lock, facts.allow.scripts));
}
