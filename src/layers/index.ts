/**
 * SB-07: dependencies as read-only layers. requirements.txt and package.json are checked, resolved once to a lock with
 * hashes, built in a sandbox that reaches the package index and nothing else, and kept by what they are made of.
 */
export { DEFAULT_INDEXES, type IndexSettings } from './index-settings.ts';
export {
  createLayers,
  type Layer,
  type LayerHooks,
  type LayerOptions,
  type LayerRequest,
  type Layers,
} from './layers.ts';
export { BUILD_LIMITS } from './limits.ts';
export type { Allowed } from './lock.ts';
export { MANAGERS, type Manager, type Manifest, type ReadFile, readManifests } from './manifest.ts';
export { pruneLayers } from './prune.ts';
export { interpreterFor } from './tools.ts';
