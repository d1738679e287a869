/** How much of an image is unpacked before it is refused. */
export type ImageLimits = {
  layers: number;
  /** All layers together, unpacked. */
  bytes: number;
  /** Entries of all layers together, those that a later layer removes included. */
  entries: number;
  /** Names in its root: each is a mount of its own in a run. */
  rootNames: number;
  /** One of the JSON documents of the image. */
  documentBytes: number;
  pathBytes: number;
  depth: number;
  /** Names of one file: past some ten thousand, file systems refuse another. */
  links: number;
  /** Unpacked over packed, counted from `ratioFreeBytes` on. */
  ratio: number;
  ratioFreeBytes: number;
};

export const DEFAULT_IMAGE_LIMITS: ImageLimits = {
  layers: 256,
  bytes: 16 * 1024 ** 3,
  entries: 1_000_000,
  // The helper takes 4096 mounts; the run's own are among them.
  rootNames: 2048,
  documentBytes: 4 * 1024 ** 2,
  // Linux takes 4096; the difference is room for where the images are kept.
  pathBytes: 3072,
  depth: 128,
  links: 10_000,
  // Layers of programs stay below 10:1.
  ratio: 200,
  ratioFreeBytes: 64 * 1024 ** 2,
};
