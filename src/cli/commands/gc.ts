import { EXIT, SkillboxError } from '../../base/index.ts';
import { keeping, loadConfig } from '../../config/index.ts';
import type { Command } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { JSON_OPTION } from '../install-scope.ts';

const WORDS = {
  runs: 'runs',
  logs: 'logs',
  artifacts: 'runs without their artifacts now',
  blobs: 'stored files',
  snapshots: 'copies of skills',
  layers: 'installed packages',
} as const;

type Setting = `retention.${'runs' | 'logs' | 'artifacts' | 'snapshots' | 'layers'}`;

export const gc: Command = {
  name: 'gc',
  summary:
    'Remove what need not be kept any longer: old runs with their logs and artifacts, and copies that no run has used.',
  args: [],
  options: {
    keep: { help: 'keep what is younger than this (30d); without it, what the settings retention.* say', value: 'D' },
    json: JSON_OPTION,
  },
  examples: ['skillbox gc --keep 30d'],
  run(input, io) {
    const config = loadConfig(io);
    const text = input.value('keep');
    const keep = text === null ? null : keeping.parse(text);
    if (keep === undefined) throw new SkillboxError('USAGE', `--keep is "${text}", not ${keeping.what}`);
    const msOf = (setting: Setting) => (text === null ? config.get(setting) : keep);
    return withSkillbox(
      io,
      async skillbox => {
        const swept = await skillbox.sweepOld({
          runsMs: msOf('retention.runs'),
          logsMs: msOf('retention.logs'),
          artifactsMs: msOf('retention.artifacts'),
          snapshotsMs: msOf('retention.snapshots'),
          layersMs: msOf('retention.layers'),
        });
        if (input.flag('json')) io.out(`${JSON.stringify(swept, null, 2)}\n`);
        else {
          const removed = Object.entries(WORDS).filter(([name]) => swept[name as keyof typeof swept] > 0);
          const lines = removed.map(([name, words]) => `${swept[name as keyof typeof swept]} ${words}`);
          io.out(lines.length === 0 ? 'Nothing is old enough to be removed.\n' : `Removed: ${lines.join(', ')}.\n`);
        }
        return EXIT.ok;
      },
      { config },
    );
  },
};
