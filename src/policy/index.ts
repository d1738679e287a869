/** What may run, with what, and who must be asked. It sees facts only: nothing here knows what a run is. */
export { decide } from './decide.ts';
export { MOST, SHIPPED } from './defaults.ts';
export type { Judge, Vouched } from './judge.ts';
export { beyondLeast } from './least.ts';
export { GUARANTEE_NAMES, type GuaranteeName, LEVEL_NAMES, type LevelName } from './levels.ts';
export * from './policy.ts';
export type { Ask, Policies, Policy, Rule, When } from './rules.ts';
export { isStrict, requiredLevels, type Terms, termsOf } from './terms.ts';
