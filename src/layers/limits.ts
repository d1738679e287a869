import type { Limits } from '../sandbox/index.ts';

const MIB = 1024 ** 2;

/** A build has limits of its own: they say nothing about the run that wants the layer. */
export const BUILD_LIMITS: Limits = {
  timeMs: 600_000,
  graceMs: 1000,
  cpus: 2,
  memoryBytes: 1024 * MIB,
  pids: 256,
  openFiles: 4096,
  fileBytes: 1024 * MIB,
  diskBytes: 4096 * MIB,
  outputBytes: 64 * MIB,
};
