/**
 * Root file systems for runs: read from docker save, OCI layouts and plain tars, unpacked without trust, kept by digest.
 * It knows nothing of skills or sandboxes; runs/ asks it for the directory behind a name.
 */
export type { Image, Owners } from './catalog.ts';
export { type Images, type ImagesOptions, type Imported, openImages } from './images.ts';
export type { ImportHooks, Progress } from './import.ts';
export { DEFAULT_IMAGE_LIMITS, type ImageLimits } from './limits.ts';
export { missingFor } from './loader.ts';
export { normalName } from './names.ts';
export { findProgram, realPath } from './program.ts';
export type { ImageRefusal } from './refusal.ts';
