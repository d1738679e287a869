import { EXIT } from '../../base/index.ts';
import { readSkill } from '../../dialects/index.ts';
import { findOutdated, LockedSources, type Outdated, planInstall, type Scope, storedAt } from '../../install/index.ts';
import {
  type DiffSide,
  diffSkills,
  digestFiles,
  type Folder,
  openDirectory,
  type SkillDiff,
} from '../../skill/index.ts';
import { type Argument, type Command, columns, type Input } from '../command.ts';
import {
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
import { renderField, renderFile } from '../render-diff.ts';
import { renderSource } from '../render-install.ts';
import { settle } from './add.ts';

const NAMES: Argument = { name: 'NAME', help: 'an installed skill; without one, all', required: false, many: true };

export const outdated: Command = {
  name: 'outdated',
  summary: 'Say which installed skills have changed at their source. Exit 1 when there are some.',
  args: [NAMES],
  options: { global: GLOBAL_OPTION, json: JSON_OPTION },
  examples: ['skillbox outdated'],
  run: (input, io) => withOutdated(input, io, async (_scope, found) => reportOutdated(found, input, io)),
};

export const update: Command = {
  name: 'update',
  summary:
    'Take what the sources have now, after showing the difference. Answers that were given to the old bytes do not count for the new.',
  args: [NAMES],
  options: {
    global: GLOBAL_OPTION,
    nested: { help: 'also where a skill holds further skills' },
    'dry-run': DRY_RUN_OPTION,
    yes: YES_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox update word-count --dry-run'],
  run: (input, io) =>
    withOutdated(input, io, async (scope, found) => {
      checkWhoInstalls(scope, io);
      if (!input.flag('json')) for (const one of found) await printDiff(scope, one, io);
      const wanted = found.map(({ skill, now }) => ({
        loaded: now,
        ...settingsFor(input, io, skill),
        nested: input.flag('nested'),
      }));
      const plan = await planInstall(scope, wanted);
      if (found.length > 0 && !input.flag('json')) {
        io.err('What was approved for the old bytes is asked again for the new ones.\n');
      }
      return settle(plan, input, io);
    }),
};

async function withOutdated(
  input: Input,
  io: Io,
  body: (scope: Scope, found: Outdated[]) => Promise<number>,
): Promise<number> {
  const scope = scopeOf(input, io);
  const sources = new LockedSources(scope, fetchLimits(io));
  try {
    const { outdated: found, gone } = await findOutdated(scope, input.args, sources);
    for (const name of gone) io.err(`${name} is no longer in its source; it stays as it is. skillbox remove ${name}\n`);
    return await body(scope, found);
  } finally {
    await sources.close();
  }
}

function reportOutdated(found: readonly Outdated[], input: Input, io: Io): number {
  const rows = found.map(({ skill, now, digest }) => ({
    name: skill.name,
    version: skill.version,
    digest: skill.digest,
    latest: { version: now.reading.skill?.version ?? null, digest, source: now.source },
  }));
  if (input.flag('json')) io.out(`${JSON.stringify({ outdated: rows }, null, 2)}\n`);
  else if (rows.length === 0) io.err('Every skill is what its source has.\n');
  else {
    const shown = found.map(({ skill, now }): [string, string] => {
      const versions = `${skill.version ?? '-'} → ${now.reading.skill?.version ?? '-'}`;
      return [skill.name, `${versions}  ${renderSource(now.source, now.folder)}`];
    });
    io.out(`${columns(shown).join('\n')}\n`);
  }
  return rows.length === 0 ? EXIT.ok : EXIT.failed;
}

/** What is on disk against what would come: also what somebody edited since shows. */
async function printDiff(scope: Scope, { skill, now }: Outdated, io: Io): Promise<void> {
  let folder: Folder;
  try {
    folder = openDirectory(storedAt(scope, skill.name));
  } catch {
    io.err(`${skill.name} is missing on disk; there is nothing to compare with\n`);
    return;
  }
  try {
    const reading = readSkill(folder, { mode: 'lenient', dialect: null });
    const before: DiffSide = { folder, skill: reading.skill, digests: await digestFiles(folder) };
    const after = { folder: now.content, skill: now.reading.skill, digests: await digestFiles(now.content) };
    io.out(`${io.paint('bold', skill.name)}\n${renderDiff(diffSkills(before, after), io)}\n`);
  } finally {
    folder.close();
  }
}

function renderDiff({ fields, files }: SkillDiff, io: Io): string {
  return [...fields.map(one => renderField(one, io.paint)), ...files.map(one => renderFile(one, io.paint))].join('');
}
