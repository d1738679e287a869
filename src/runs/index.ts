/** One run, from the skill to its recorded result: plan, execute, collect, record, sweep. */
export { type Afterwards, createAfterwards } from './afterwards.ts';
export { revokedEvent } from './approval-events.ts';
export { type Approving, createApproving } from './approving.ts';
export { type Considered, historyOf } from './consider.ts';
export { describeExplained, describePlan, describeQuestion } from './describe.ts';
export { canceledEvent, localActor, localCaller } from './events.ts';
export type { RunHooks } from './execute.ts';
export { type Explained, type ExplainRequest, explainRun, NO_HISTORY } from './explain.ts';
export { type RunFacts, toPolicyRequest } from './facts.ts';
export { allowsImage, chooseRuntime, type ImagePolicy } from './image.ts';
export { Interrupted } from './interrupt.ts';
export { DEFAULT_LIMITS as DEFAULT_RUN_LIMITS, type LimitPolicy } from './limits.ts';
export type { GivenPath } from './paths.ts';
export { type Machine, type Planned, planRun, REQUIRED, type Runner, type RunRequest, runnerFor } from './plan.ts';
export type { Change, Preview, Question, Reply } from './question.ts';
export { tenantShortfall } from './shortfall.ts';
export { openKept, pruneSnapshots, snapshotPath, takeSnapshot } from './snapshot.ts';
export { createStandby, type Standby, type StandbyReport } from './standby.ts';
export { type Foreseen, foreseeRun, type StartHooks, startRun } from './start.ts';
export { type Submitted, startClaimed, submitRun, type Ticket } from './submit.ts';
export { requireOne, type SweepOptions, sweepAll, sweepRuns } from './sweep.ts';
export {
  answerRun,
  cancelQueued,
  cancelWaiting,
  endIfCanceled,
  failClaimed,
  putBack,
  readQuestion,
  sandboxOf,
} from './waiting.ts';
export { checkWorkspace, holdsHome, type OffLimits } from './workspace.ts';
export { thisWriter } from './writer.ts';
