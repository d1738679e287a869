import { EXIT } from '../../base/index.ts';
import { readLock, verifyInstalled } from '../../install/index.ts';
import { type Command, columns, type Input } from '../command.ts';
import { GLOBAL_OPTION, JSON_OPTION, scopeOf } from '../install-scope.ts';
import type { Io } from '../io.ts';
import { renderSource } from '../render-install.ts';

export const list: Command = {
  name: 'list',
  summary: 'List installed skills, with their version, source, agents, and whether they are as they were installed.',
  args: [],
  options: { global: GLOBAL_OPTION, json: JSON_OPTION },
  examples: ['skillbox list --global'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const scope = scopeOf(input, io);
  const lock = readLock(scope.lockPath);
  // Without a lock there is nothing to verify, which is no fault here: nothing was installed yet.
  const differences = lock.size === 0 ? [] : (await verifyInstalled(scope)).differences;
  const changed = new Set(differences.map(({ skill }) => skill));
  const skills = [...lock.values()].map(skill => ({
    name: skill.name,
    version: skill.version,
    digest: skill.digest,
    source: skill.source,
    folder: skill.folder,
    agents: skill.agents,
    method: skill.method,
    intact: !changed.has(skill.name),
  }));
  if (input.flag('json')) io.out(`${JSON.stringify({ scope: scope.kind, root: scope.root, skills }, null, 2)}\n`);
  else if (skills.length === 0) io.err('No skill is installed here.\n');
  else {
    const rows = skills.map(({ name, version, source, folder, agents, intact }): [string, string] => {
      const state = intact ? '' : '  changed on disk: skillbox verify';
      const whom = agents.length === 0 ? '' : `  for ${agents.join(', ')}`;
      return [`${name}${version === null ? '' : ` ${version}`}`, `${renderSource(source, folder)}${whom}${state}`];
    });
    io.out(`${columns(rows).join('\n')}\n`);
  }
  return EXIT.ok;
}
