import { join } from 'node:path';
import {
  type Allowed,
  BUILD_LIMITS,
  createLayers,
  type Layer,
  type LayerHooks,
  type LayerOptions,
  type Layers,
  readManifests,
} from '../../src/layers/index.ts';
import { createBubblewrap, run, type Sandbox } from '../../src/sandbox/index.ts';
import { makeStateDir, optionsFor } from './drivers.ts';
import type { PackageServer } from './packages.ts';
import { QUIET, specOf, text } from './sandbox-spec.ts';
import { tempDir } from './temp.ts';

export const SEARCH = optionsFor('').search;
export const SILENT: LayerHooks = { onProgress: () => undefined, signal: null };

export type Site = { layers: Layers; sandbox: Sandbox; directory: string };

/** Layers in a data directory of their own, or in a given one, as another process would have them. */
export function makeSite(
  indexes: { pip: string | null; npm: string | null },
  changes: Partial<LayerOptions> & { allow?: Allowed } = {},
): Site {
  const stateDir = makeStateDir(process.getuid?.() ?? 0);
  const sandbox = createBubblewrap(optionsFor(stateDir));
  const directory = changes.directory ?? join(tempDir('layers'), 'layers');
  const options: LayerOptions = {
    directory,
    sandbox,
    programs: { search: SEARCH, notes: stateDir },
    indexes: { ...indexes, hosts: [] },
    allow: { sources: false, scripts: false },
    limits: { ...BUILD_LIMITS, timeMs: 60_000 },
    requires: new Map(),
    ...changes,
  };
  return { layers: createLayers(options), sandbox, directory };
}

export const siteOf = (server: PackageServer, changes: Partial<LayerOptions> = {}) =>
  makeSite({ pip: server.pip, npm: server.npm }, changes);

/** The layer of a skill with exactly these files. */
export function ensure(
  { layers }: Site,
  files: Record<string, string>,
  hooks: LayerHooks = SILENT,
  tenant = 'local',
): Promise<Layer> {
  const [manifest] = readManifests(path => (path in files ? Buffer.from(files[path] ?? '') : null));
  if (manifest === undefined) throw new Error('there is nothing to install');
  const root = { runtime: { kind: 'host' as const, also: [] }, standIn: null };
  return layers.ensure({ manifest, ...root, path: '/usr/bin:/bin', tenant }, hooks);
}

/** What a program prints that has the layer, and no network. */
export async function useLayer({ sandbox }: Site, layer: Layer, program: string): Promise<string> {
  const at = layer.manager === 'pip' ? '/sandbox/site-packages' : '/sandbox/node_modules';
  const outcome = await run(
    sandbox,
    specOf(layer.manager === 'pip' ? ['python3', '-c', program] : ['node', '/sandbox/main.mjs'], {
      mounts: [
        { kind: 'bind', source: layer.path, at, writable: false, exec: true, protect: null },
        { kind: 'text', at: '/sandbox/main.mjs', text: program },
        { kind: 'tmpfs', at: '/tmp', bytes: 1024 ** 2 },
      ],
      env: { HOME: '/root', LANG: 'C.UTF-8', PYTHONPATH: at },
      limits: { memoryBytes: 512 * 1024 ** 2 },
    }),
    QUIET,
  );
  return text(outcome) + outcome.stderr.text.toString('utf8');
}
