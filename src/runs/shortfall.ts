import { SkillboxError } from '../base/index.ts';
import { requiredLevels } from '../policy/index.ts';
import { refuseMissing } from '../sandbox/index.ts';
import type { Machine } from './plan.ts';

/** Why the runs of tenants would all be refused here; null when they would not. Said at the start, not first to a caller. */
export function tenantShortfall({ sandbox, judge }: Pick<Machine, 'sandbox' | 'judge'>): string | null {
  try {
    refuseMissing(sandbox.name, sandbox.enforces, requiredLevels(judge.policies(), sandbox.name !== 'process', true));
    return null;
  } catch (error) {
    if (error instanceof SkillboxError) return error.message;
    throw error;
  }
}
