import type { Machine } from '../runs/index.ts';
import type { RunQuotas, RunRecord } from '../store/index.ts';

/** What an operator may set. */
export type ExecutionSettings = {
  /** How many runs this process has on the way at once. */
  slots: number;
  /** How many of all tenants may be in line. */
  queueLimit: number;
  /** How many processes a run may take with it before it has begun. */
  attempts: number;
  /** How often this process says that it lives, and how long others may be silent before they are taken for dead. */
  heartbeatMs: number;
  deadAfterMs: number;
  /** How often somebody looks whether another process has put something in line. */
  pollMs: number;
  /** How long an idempotency key stands for its run. */
  keyMs: number;
};

export type ExecutionOptions = {
  machine: Machine;
  settings: ExecutionSettings;
  /** For those of whom nothing else is known. */
  defaults: RunQuotas;
  /** What the tenant may have. */
  quotasOf: (tenant: string | null) => Promise<RunQuotas>;
  /** The snapshot of a run that somebody else recorded may not be on this machine yet. */
  fetchSkill: (record: RunRecord) => Promise<void>;
  /** Told of what went wrong without anybody waiting for it. */
  onFault: (error: unknown, about: string) => void;
};
