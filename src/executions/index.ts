/** Runs of a server: a bounded, fair line before a number of places, feeds for those who follow, and what is kept how long. */
export { Executions } from './executions.ts';
export { Feed, Feeds } from './feed.ts';
export type { ExecutionOptions, ExecutionSettings } from './options.ts';
export { type RetentionSettings, type Swept, sweepOld } from './retention.ts';
export { toRun } from './run.ts';
