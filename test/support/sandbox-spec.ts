import type { Limits, Outcome, RunIo, RunSpec, SandboxMount } from '../../src/sandbox/index.ts';

const MiB = 1024 * 1024;

export const LIMITS: Limits = {
  timeMs: 10_000,
  graceMs: 500,
  cpus: 1,
  memoryBytes: 256 * MiB,
  pids: 64,
  openFiles: 256,
  fileBytes: 64 * MiB,
  diskBytes: 8 * MiB,
  outputBytes: 4 * MiB,
};

export const MOUNTS: SandboxMount[] = [
  { kind: 'tmpfs', at: '/tmp', bytes: 16 * MiB },
  { kind: 'tmpfs', at: '/root', bytes: MiB },
  { kind: 'out', at: '/sandbox/out', directories: ['files'] },
];

type Changes = Partial<Omit<RunSpec, 'limits'>> & { limits?: Partial<Limits> };

export function specOf(argv: string[], changes: Changes = {}): RunSpec {
  return {
    argv,
    cwd: '/tmp',
    env: { HOME: '/root', LANG: 'C.UTF-8' },
    mounts: MOUNTS,
    network: { kind: 'none' },
    runtime: { kind: 'host', also: [] },
    tenant: null,
    requires: new Map(),
    ...changes,
    limits: { ...LIMITS, ...changes.limits },
  };
}

export const QUIET: RunIo = { stdin: null, onChunk: null, keepBytes: MiB, signal: null };

export const text = (outcome: Outcome) => outcome.stdout.text.toString('utf8');
export const errors = (outcome: Outcome) => outcome.stderr.text.toString('utf8');
