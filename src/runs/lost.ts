import { SkillboxError } from '../base/index.ts';
import type { RunRecord } from '../store/index.ts';

/** Somebody took this process for dead: the record is not its own to write any more. */
export function lost({ id }: RunRecord): SkillboxError {
  return new SkillboxError('RUN_LOST', `the run ${id} goes on without this process, or was ended by another one`);
}
