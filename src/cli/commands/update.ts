import { EXIT } from '../../base/index.ts';
import {
  findOutdated,
  LockedSources,
  type Outdated,
  planInstall,
  type Scope,
  type Wanted,
} from '../../install/index.ts';
import type { SkillDiff } from '../../skill/index.ts';
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
import { SERVER_OPTION } from '../on-server.ts';
import { renderSource } from '../render-install.ts';
import { diffInstalled, renderSkillDiff } from '../update-diff.ts';
import { settle } from './add.ts';

const NAMES: Argument = { name: 'NAME', help: 'an installed skill; without one, all', required: false, many: true };

export const outdated: Command = {
  name: 'outdated',
  summary: 'Say which installed skills have changed at their source. Exit 1 when there are some.',
  args: [NAMES],
  options: { global: GLOBAL_OPTION, ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox outdated'],
  run: (input, io) => withOutdated(input, io, async (_scope, found, gone) => reportOutdated(found, gone, input, io)),
};

export const update: Command = {
  name: 'update',
  summary:
    'Take what the sources have now, after showing the difference. Answers that were given to the old bytes do not count for the new.',
  args: [NAMES],
  options: {
    global: GLOBAL_OPTION,
    nested: { help: 'also where a skill holds further skills' },
    ...SERVER_OPTION,
    'dry-run': DRY_RUN_OPTION,
    yes: YES_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox update word-count --dry-run'],
  run: (input, io) => withOutdated(input, io, (scope, found) => bringUpToDate(scope, found, input, io)),
};

async function bringUpToDate(scope: Scope, found: Outdated[], input: Input, io: Io): Promise<number> {
  checkWhoInstalls(scope, io);
  const json = input.flag('json');
  const wanted: Wanted[] = [];
  const diffs = new Map<string, SkillDiff | null>();
  for (const { skill, latest } of found) {
    const loaded = await latest.load();
    const diff = await diffInstalled(scope, skill, loaded);
    diffs.set(skill.name, diff);
    if (diff === null && !json) io.err(`${skill.name} is missing on disk; there is nothing to compare with\n`);
    else if (diff !== null && !json) io.out(`${io.paint('bold', skill.name)}\n${renderSkillDiff(diff, io.paint)}\n`);
    wanted.push({ loaded, ...settingsFor(input, io, skill), nested: input.flag('nested') });
  }
  const plan = await planInstall(scope, wanted);
  if (found.length > 0 && !json) io.err('What was approved for the old bytes is asked again for the new ones.\n');
  return settle(plan, input, io, diffs);
}

async function withOutdated(
  input: Input,
  io: Io,
  body: (scope: Scope, found: Outdated[], gone: string[]) => Promise<number>,
): Promise<number> {
  const scope = scopeOf(input, io);
  const sources = new LockedSources(scope, fetchLimits(input, io, scope));
  try {
    const { outdated: found, gone } = await findOutdated(scope, input.args, sources);
    for (const name of gone) io.err(`${name} is no longer in its source; it stays as it is. skillbox remove ${name}\n`);
    return await body(scope, found, gone);
  } finally {
    await sources.close();
  }
}

function reportOutdated(found: readonly Outdated[], gone: readonly string[], input: Input, io: Io): number {
  const rows = found.map(({ skill, latest: { version, digest, source } }) => ({
    name: skill.name,
    version: skill.version,
    digest: skill.digest,
    latest: { version, digest, source },
  }));
  if (input.flag('json')) io.out(`${JSON.stringify({ outdated: rows, gone }, null, 2)}\n`);
  else if (rows.length === 0) io.err(`Every ${gone.length === 0 ? '' : 'other '}skill is what its source has.\n`);
  else {
    const shown = found.map(({ skill, latest: { version, source, folder } }): [string, string] => {
      const versions =
        version === skill.version ? `${version ?? '-'}, other bytes` : `${skill.version ?? '-'} → ${version ?? '-'}`;
      return [skill.name, `${versions}  ${renderSource(source, folder)}`];
    });
    io.out(`${columns(shown).join('\n')}\n`);
  }
  return rows.length === 0 ? EXIT.ok : EXIT.failed;
}
