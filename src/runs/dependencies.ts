import type { Invocation } from '../dialects/index.ts';
import { interpreterFor, type LayerHooks, type Layers, type Manager, readManifests } from '../layers/index.ts';
import type { Folder } from '../skill/index.ts';
import { type ChosenRuntime, placeOf } from './image.ts';
import type { StandIn } from './plan.ts';

/** `path` is null where the layer is not there and was not to be built. */
export type PlannedLayer = { manager: Manager; key: string | null; path: string | null };

type Surroundings = Pick<ChosenRuntime, 'runtime' | 'env'> & {
  tenant: string | null;
  standIn: Promise<StandIn | null>;
};

/** SB-07: the layers that the invocation has a place for and the skill asks for. */
export async function gatherLayers(
  layers: Layers,
  folder: Folder,
  invocation: Invocation,
  { runtime, env, tenant, standIn }: Surroundings,
  building: LayerHooks | null,
): Promise<PlannedLayer[]> {
  const wanted = new Set(invocation.mounts.flatMap(mount => (mount.kind === 'dependencies' ? [mount.manager] : [])));
  const manifests = readManifests((path, maxBytes) =>
    folder.file(path) === null ? null : folder.read(path, maxBytes),
  );
  const found: PlannedLayer[] = [];
  for (const manifest of manifests) {
    if (!wanted.has(manifest.manager)) continue;
    // Only here: where there are no packages, an engine that does not know its image is met later, and told with what helps.
    const path = env.PATH ?? '';
    const name = interpreterFor(manifest.manager);
    // The packages must be those of the interpreter that loads them.
    const interpreter = runtime.kind === 'image' ? placeOf(runtime.root, name, path) : null;
    const request = { manifest, runtime, standIn: await standIn, path, interpreter, tenant: ownerOf(tenant) };
    const layer = building === null ? await layers.find(request) : await layers.ensure(request, building);
    found.push({ manager: manifest.manager, key: layer?.key ?? null, path: layer?.path ?? null });
  }
  return found;
}

/** No tenant can be called what the machine's own user is. */
function ownerOf(tenant: string | null): string {
  return tenant === null ? 'local' : `tenant/${tenant}`;
}

/** Whether packages must be fetched and built before the run can start. */
export function needsBuild({ layers }: { layers: readonly PlannedLayer[] }): boolean {
  return layers.some(({ path }) => path === null);
}
