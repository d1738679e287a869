/** What may run, with what, and who must be asked. It sees facts only: nothing here knows what a run is. */
export { holdsArrived, serverOf } from './arrived.ts';
export { decide } from './decide.ts';
export { MOST, SHIPPED } from './defaults.ts';
export type { Judge, Vouched } from './judge.ts';
export { beyondLeast, leavesTraces } from './least.ts';
export { GUARANTEE_NAMES, type GuaranteeName, LEVEL_NAMES, type LevelName } from './levels.ts';
export { checkPolicy, createJudge, type JudgeOptions, loadPolicy } from './load.ts';
export * from './policy.ts';
export { type PolicyReading, readPolicy, SCOPES, type Scope } from './read.ts';
export type { PolicyDiagnostic } from './read-node.ts';
export { ASKS, type Ask, type Policies, type Policy, type Rule, type When } from './rules.ts';
export { isStrict, requiredLevels, type Terms, termsOf } from './terms.ts';
export { type SkillPlace, type TrustSettings, trustOf } from './trust.ts';
export { openTrustStore, type TrustEntry, type TrustList, type TrustStore } from './trust-store.ts';
export type { TrustWord } from './trust-word.ts';
export { createTrusting, type Trusting } from './trusting.ts';
