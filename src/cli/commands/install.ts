import { existsSync } from 'node:fs';
import { EXIT, SkillboxError } from '../../base/index.ts';
import { LockedSources, planInstall, wantedByLock } from '../../install/index.ts';
import type { Command, Input } from '../command.ts';
import { carryOut, checkWhoInstalls, DRY_RUN_OPTION, GLOBAL_OPTION, JSON_OPTION, scopeOf } from '../install-scope.ts';
import type { Io } from '../io.ts';
import { plural } from '../render-diagnostics.ts';
import { planJson, renderPlan } from '../render-install.ts';

export const install: Command = {
  name: 'install',
  summary: 'Restore exactly what skills.lock says, or fail and change nothing.',
  args: [],
  options: {
    frozen: { help: 'also fail when there is no skills.lock' },
    global: GLOBAL_OPTION,
    'dry-run': DRY_RUN_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox install --frozen'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const scope = scopeOf(input, io);
  checkWhoInstalls(scope, io);
  if (input.flag('frozen') && !existsSync(scope.lockPath)) {
    throw new SkillboxError('NOT_FOUND', `there is no ${scope.lockPath}`, { hint: 'skillbox add writes one.' });
  }
  const sources = new LockedSources(scope);
  try {
    const plan = await planInstall(scope, await wantedByLock(scope, sources));
    const dry = input.flag('dry-run');
    if (!input.flag('json') && plan.writes.length > 0) io.err(renderPlan(plan, io));
    if (!dry) await carryOut(plan, io);
    if (input.flag('json')) io.out(`${JSON.stringify(planJson(plan, !dry), null, 2)}\n`);
    else io.err(`${plural(plan.skills.length, 'skill')} ${dry ? 'would be' : 'are'} as skills.lock says.\n`);
    return EXIT.ok;
  } finally {
    await sources.close();
  }
}
