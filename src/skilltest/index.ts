/** What a skill says of how it should behave, and whether it does: the pure half of `skillbox skill test`. Runs nothing. */
export { CHECK_STEPS, type Check, type CheckStep, countChecks } from './check.ts';
export { isTooDeep } from './depth.ts';
export { EVALS_FILE, type Eval, judgeAnswer, readEvals } from './evals.ts';
export { EXAMPLES_FILE, type Example, type Happened, judgeExample, readExamples, targetOf } from './examples.ts';
export { type Contender, contendersFor, judgeTrigger, readTriggers, TRIGGERS_FILE, type Trigger } from './triggers.ts';
