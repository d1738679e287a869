/**
 * Where a run happens: the contract (RunSpec in, Handle and Outcome out), its drivers, and the choice between them.
 * It knows nothing of skills; runs/ turns an invocation and a grant into a RunSpec.
 */
export { type Bubblewrap, type BubblewrapOptions, createBubblewrap } from './bubblewrap.ts';
export { chooseSandbox, type Diagnosis, diagnose, tabulate } from './choose.ts';
export { createDocker, type DockerOptions } from './docker.ts';
export { isAlive, newId as newOwnedId, ownerOfId, sameOwner, thisOwner } from './owner.ts';
export { takeLock } from './owner-lock.ts';
export { createProcess, type ProcessOptions } from './process.ts';
export { leftOutOf, resolveProgram } from './runtime.ts';
export {
  atLeast,
  type Captured,
  EGRESS_PORT,
  type End,
  type Enforces,
  GUARANTEES,
  type Guarantee,
  type Handle,
  isOwnPlace,
  LEVELS,
  type Level,
  type LimitEnd,
  type Limits,
  type Network,
  type Outcome,
  type Owner,
  type Planted,
  type Problem,
  type Protection,
  type Requires,
  type RunIo,
  type RunSpec,
  type RuntimeSpec,
  type RuntimeUsed,
  refuseMissing,
  run,
  SANDBOX_BIN,
  type Sandbox,
  type SandboxMount,
  type StreamName,
  type Usage,
} from './sandbox.ts';
export { realPathOf, removeTree } from './state.ts';
export { DEFAULT_UIDS, type UidRange } from './uids.ts';
export {
  createWarmPool,
  type WarmKey,
  type WarmOptions,
  type WarmReport,
  warmOptions,
} from './warm-pool.ts';
