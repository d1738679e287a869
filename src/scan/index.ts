/** Static findings over a skill's instructions and scripts: what to look at before trusting it. Reads, runs nothing. */
export { parseAllowList } from './allow-list.ts';
export {
  atLeast,
  countFindings,
  type Finding,
  type NotLookedInto,
  type Scan,
  type ScanSeverity,
  SEVERITIES,
} from './finding.ts';
export { SCAN_LIMITS, type ScanLimits } from './limits.ts';
export { FAMILIES, type Family, type Rule, type Where } from './rule.ts';
export { RULES } from './rules/index.ts';
export { type ScanOptions, scanSkill } from './scan.ts';
export { PLACES, type Place } from './span.ts';
