import { existsSync } from 'node:fs';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import {
  foreignHash,
  LockedSources,
  type Plan,
  planInstall,
  readForeignLock,
  readLock,
  type Scope,
  type Wanted,
  wantedByLock,
} from '../../install/index.ts';
import type { Command, Input } from '../command.ts';
import {
  carryOut,
  checkWhoInstalls,
  DRY_RUN_OPTION,
  fetchLimits,
  GLOBAL_OPTION,
  JSON_OPTION,
  scopeOf,
  settingsFor,
  YES_OPTION,
} from '../install-scope.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { plural } from '../render-diagnostics.ts';
import { planJson, renderPlan } from '../render-install.ts';
import { settle } from './add.ts';

export const install: Command = {
  name: 'install',
  summary: 'Restore exactly what skills.lock says, or fail and change nothing.',
  args: [],
  options: {
    frozen: { help: 'also fail when there is no skills.lock' },
    import: { help: 'take over what another installer lists in skills-lock.json or ~/.agents/.skill-lock.json' },
    global: GLOBAL_OPTION,
    ...SERVER_OPTION,
    'dry-run': DRY_RUN_OPTION,
    yes: YES_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox install --frozen', 'skillbox install --import --dry-run'],
  surplus:
    'install takes no names: it restores all that skills.lock says. `skillbox add SOURCE` installs from a source',
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const scope = scopeOf(input, io);
  checkWhoInstalls(scope, io);
  if (input.flag('import')) return takeOver(scope, input, io);
  if (input.flag('frozen') && !existsSync(scope.lockPath)) {
    throw new SkillboxError('NOT_FOUND', `there is no ${scope.lockPath}`, { hint: 'skillbox add writes one.' });
  }
  const sources = new LockedSources(scope, fetchLimits(input, io, scope));
  try {
    const plan = await planInstall(scope, await wantedByLock(scope, sources));
    const dry = input.flag('dry-run');
    if (!input.flag('json') && plan.writes.length > 0) io.err(renderPlan(onlyTouched(plan), io));
    if (!dry) await carryOut(plan, io);
    if (input.flag('json')) io.out(`${JSON.stringify(planJson(plan, !dry), null, 2)}\n`);
    else {
      const are = plan.skills.length === 1 ? 'is' : 'are';
      io.err(`${plural(plan.skills.length, 'skill')} ${dry ? 'would be' : are} as skills.lock says.\n`);
    }
    return EXIT.ok;
  } finally {
    await sources.close();
  }
}

/** What is as it should be needs no words. */
function onlyTouched(plan: Plan): Plan {
  const touched = new Set(plan.writes.map(({ name }) => name));
  return { ...plan, skills: plan.skills.filter(({ locked }) => touched.has(locked.name)) };
}

/** The other installer's list stays as it is; from now on skills.lock says what is installed. */
async function takeOver(scope: Scope, input: Input, io: Io): Promise<number> {
  const { path, skills, left } = readForeignLock(scope);
  const lock = readLock(scope.lockPath);
  const sources = new LockedSources(scope, fetchLimits(input, io, scope));
  try {
    const wanted: Wanted[] = [];
    for (const skill of skills) {
      const loaded = await sources.load(skill, false);
      if (loaded === null) left.push({ name: skill.name, why: 'it is no longer in its source' });
      else wanted.push({ loaded, ...settingsFor(input, io, lock.get(skill.name)), nested: false, adopt: true });
      if (loaded !== null && skill.hash !== null && foreignHash(loaded.content) !== skill.hash) {
        io.err(`${skill.name}: the source has other bytes than ${visibleLine(path, 200)} says; they are taken.\n`);
      }
    }
    for (const { name, why } of left) io.err(`${name} is left out: ${visibleLine(why, 200)}\n`);
    return await settle(await planInstall(scope, wanted), input, io);
  } finally {
    await sources.close();
  }
}
