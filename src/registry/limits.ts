/** How much may be published. */
export type RegistryLimits = {
  /** Of the zip as it is uploaded. */
  maxArchiveBytes: number;
  /** Of everything in it. */
  maxBytes: number;
  maxFiles: number;
  /** Of one name, yanked ones included: none is ever removed. */
  maxVersions: number;
  /** Of one tenant. Installers read the index of all of them at once. */
  maxNames: number;
  /** Given with one publication. */
  maxTags: number;
};

export const REGISTRY_LIMITS: RegistryLimits = {
  maxArchiveBytes: 64 * 1024 ** 2,
  maxBytes: 256 * 1024 ** 2,
  maxFiles: 10_000,
  maxVersions: 1000,
  maxNames: 10_000,
  maxTags: 20,
};
