import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { explainName, type NameReport } from '../../catalog/index.ts';
import type { Mode } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { DIR_OPTION, localSkills } from '../local-skills.ts';
import { MODES } from './catalog.ts';

export const catalogWhy: Command = {
  name: 'catalog why',
  summary: 'Say what a name stands for in the catalog, and what else was found under it.',
  args: [{ name: 'NAME', help: 'the name of a skill', required: true, many: false }],
  options: {
    dir: DIR_OPTION,
    mode: { help: 'the mode the agent is in (Global)', value: 'MODE', choices: MODES },
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox catalog why code-review'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const name = input.args[0] ?? '';
  const { discovery, resolution, hidden } = localSkills(io, input.values('dir'));
  const mode = (input.value('mode') ?? 'Global') as Mode;
  const report = explainName(name, discovery, resolution, { mode, platform: process.platform, hidden });
  if (input.flag('json')) {
    io.out(`${JSON.stringify({ ...report, places: discovery.places }, null, 2)}\n`);
    return report.candidates.length === 0 ? EXIT.notFound : EXIT.ok;
  }
  if (report.candidates.length === 0) throw notFound(report, discovery.places);
  io.out(render(report));
  return EXIT.ok;
}

function render({ name, candidates }: NameReport): string {
  const lines = candidates.map(({ folder, realFolder, place, holds, why, nested }) => {
    const real = realFolder === folder ? '' : ` -> ${visibleLine(realFolder, 400)}`;
    const inner = nested.map(path => `    holds another skill, which is not offered: ${visibleLine(path, 400)}\n`);
    return `${holds ? '*' : ' '} ${visibleLine(folder, 400)}${real} (${place})\n    ${visibleLine(why, 600)}\n${inner.join('')}`;
  });
  return `${visibleLine(name, 64)}\n${lines.join('')}`;
}

function notFound({ name, meant }: NameReport, places: readonly { path: string }[]): SkillboxError {
  const near = meant === null ? '' : `; did you mean ${meant}?`;
  return new SkillboxError('NOT_FOUND', `there is no skill "${name}"${near}`, {
    hint: `It was looked for in ${places.map(({ path }) => path).join(', ')}.`,
  });
}
