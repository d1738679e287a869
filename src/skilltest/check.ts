/** In the order in which they are done. */
export const CHECK_STEPS = ['lint', 'scan', 'help', 'example', 'trigger', 'eval'] as const;
export type CheckStep = (typeof CHECK_STEPS)[number];

/** One line of the report. `why` is never empty: a bare verdict helps nobody. */
export type Check = {
  step: CheckStep;
  /** What was looked at: a script, an example, a query; null where the step is one check. */
  name: string | null;
  result: 'pass' | 'fail' | 'skip';
  why: string;
};

export function countChecks(checks: readonly Check[]): { passed: number; failed: number; skipped: number } {
  const count = (result: Check['result']) => checks.filter(check => check.result === result).length;
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip') };
}
