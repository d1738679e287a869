/**
 * What people answered when they were asked: bound to exactly what they saw, sealed against changes, kept outside every
 * skill and project. Whether an answer is needed at all is policy's to say.
 */
export { type Answers, type Given, openAnswers } from './answers.ts';
export { type Bound, bindingKey, type CallFacts, callKey, lockOf, originKey, refusalKey } from './binding.ts';
export { type GivenAnswer, isInForce } from './given.ts';
export { type AnswerKey, derivedKey, keyInFile, keyPathOf } from './key-file.ts';
export type { Known, Wish } from './known.ts';
