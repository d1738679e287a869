/** The registry: publish, resolve, search, yank. Versions are immutable, `latest` means one thing, and tenants see their own. */
export { REGISTRY_LIMITS, type RegistryLimits } from './limits.ts';
export { openPublished, type Shelf } from './open.ts';
export type { RegistryParts } from './parts.ts';
export { createRegistry } from './registry.ts';
export { findVersion, toVersion } from './versions.ts';
export { WELL_KNOWN_PATH, type WellKnownIndex, wellKnownIndex } from './well-known.ts';
