import { EXIT, visibleLine } from '../../base/index.ts';
import { verifyInstalled } from '../../install/index.ts';
import type { Command, Input } from '../command.ts';
import { GLOBAL_OPTION, JSON_OPTION, scopeOf } from '../install-scope.ts';
import type { Io } from '../io.ts';
import { plural } from '../render-diagnostics.ts';
import { showPath } from '../write-folder.ts';

export const verify: Command = {
  name: 'verify',
  summary: 'Compare installed skills with skills.lock, file by file. Exit 1 when something differs.',
  args: [],
  options: { global: GLOBAL_OPTION, json: JSON_OPTION },
  examples: ['skillbox verify'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const verified = await verifyInstalled(scopeOf(input, io));
  const { skills, differences, unlocked } = verified;
  if (input.flag('json')) io.out(`${JSON.stringify(verified, null, 2)}\n`);
  else {
    for (const { skill, path, file, what } of differences) {
      const place = showPath(file === null ? path : `${path}/${file}`, io.cwd);
      io.out(`${io.paint('red', skill)} ${visibleLine(place, 300)} ${visibleLine(what, 200)}\n`);
    }
    for (const name of unlocked) io.err(`${visibleLine(name, 80)} is in the store, but in no lock\n`);
    if (differences.length === 0) io.err(`${plural(skills, 'skill')} as skills.lock says.\n`);
    else io.err(`${plural(differences.length, 'difference')}. skillbox install restores what the lock says.\n`);
  }
  return differences.length === 0 ? EXIT.ok : EXIT.failed;
}
