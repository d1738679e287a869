import type { Limits as SandboxLimits } from '../sandbox/index.ts';
import type { Skill } from '../skill/index.ts';

/** What a run gets where neither skill nor caller says otherwise, and what nobody gets more of on this machine. */
export type LimitPolicy = { defaults: SandboxLimits; maxima: SandboxLimits };

const MIB = 1024 ** 2;

export const DEFAULT_LIMITS: LimitPolicy = {
  defaults: {
    timeMs: 120_000,
    graceMs: 5_000,
    cpus: 1,
    memoryBytes: 512 * MIB,
    pids: 128,
    openFiles: 1024,
    fileBytes: 256 * MIB,
    diskBytes: 256 * MIB,
    outputBytes: 16 * MIB,
  },
  maxima: {
    timeMs: 3_600_000,
    graceMs: 30_000,
    cpus: 64,
    memoryBytes: 64 * 1024 * MIB,
    pids: 4096,
    openFiles: 65_536,
    fileBytes: 16 * 1024 * MIB,
    diskBytes: 16 * 1024 * MIB,
    outputBytes: 1024 * MIB,
  },
};

/**
 * what the caller says counts before what the skill asks for, and that before the default; nobody gets more than the
 * maximum, and what was lowered is said.
 */
export function resolveLimits(
  needs: Skill['needs']['limits'],
  invocationTimeoutMs: number,
  callerTimeoutMs: number | null,
  policy: LimitPolicy,
): { limits: SandboxLimits; warnings: string[] } {
  const { defaults, maxima } = policy;
  const wanted: SandboxLimits = {
    ...defaults,
    timeMs: callerTimeoutMs ?? invocationTimeoutMs,
    cpus: needs.cpus ?? defaults.cpus,
    memoryBytes: needs.memoryBytes ?? defaults.memoryBytes,
  };
  const limits = { ...wanted };
  const warnings: string[] = [];
  for (const key of Object.keys(limits) as (keyof SandboxLimits)[]) {
    if (wanted[key] <= maxima[key]) continue;
    limits[key] = maxima[key];
    warnings.push(`${key} ${wanted[key]} is over the maximum of this machine; it was lowered to ${maxima[key]}`);
  }
  return { limits, warnings };
}
