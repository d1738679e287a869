import { EXIT, SkillboxError } from '../../base/index.ts';
import { planRemove } from '../../install/index.ts';
import type { Command, Input } from '../command.ts';
import {
  carryOut,
  confirm,
  DRY_RUN_OPTION,
  GLOBAL_OPTION,
  JSON_OPTION,
  scopeOf,
  YES_OPTION,
} from '../install-scope.ts';
import type { Io } from '../io.ts';
import { planJson, renderPlan } from '../render-install.ts';

export const remove: Command = {
  name: 'remove',
  summary:
    "Take installed skills away: the stored copy, what is in the agents' directories, and the entry in the lock.",
  args: [{ name: 'NAME', help: 'an installed skill', required: true, many: true }],
  options: { global: GLOBAL_OPTION, 'dry-run': DRY_RUN_OPTION, yes: YES_OPTION, json: JSON_OPTION },
  examples: ['skillbox remove word-count'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const plan = await planRemove(scopeOf(input, io), input.args);
  const [json, dry] = [input.flag('json'), input.flag('dry-run')];
  if (!json) io.err(renderPlan(plan, io));
  if (!dry) {
    if (!(await confirm('Remove this?', input, io))) throw new SkillboxError('CANCELED', 'not confirmed');
    await carryOut(plan, io);
  }
  if (json) io.out(`${JSON.stringify(planJson(plan, !dry), null, 2)}\n`);
  else if (dry) io.err('Nothing was removed.\n');
  else for (const { name } of plan.removed) io.out(`${name} is removed\n`);
  return EXIT.ok;
}
