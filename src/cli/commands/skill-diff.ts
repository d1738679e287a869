import { resolve } from 'node:path';
import { EXIT, visibleLine } from '../../base/index.ts';
import { type Reading, readSkill } from '../../dialects/index.ts';
import {
  DIALECTS,
  type DialectName,
  type DiffLine,
  type DiffSide,
  diffSkills,
  digestFiles,
  digestFolder,
  type Folder,
  openFolder,
  type SkillDiff,
} from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { plural } from '../render-diagnostics.ts';
import { renderField, renderFile } from '../render-diff.ts';

export const skillDiff: Command = {
  name: 'skill diff',
  summary: 'Compare two skills: fields, files and text. Exit 0 when they are equal, 1 when they differ.',
  args: [
    { name: 'A', help: 'the skill before: a folder or a zip', required: true, many: false },
    { name: 'B', help: 'the skill after', required: true, many: false },
  ],
  options: {
    dialect: { help: 'read both as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    json: { help: 'print one JSON document' },
  },
  examples: [
    'skillbox skill diff ./word-count-old ./word-count',
    'skillbox skill diff word-count-1.0.0.zip ./word-count',
  ],
  run,
};

type Side = DiffSide & { path: string; reading: Reading; digest: string };

async function run(input: Input, io: Io): Promise<number> {
  const [before = '', after = ''] = input.args;
  const opened: Folder[] = [];
  try {
    const open = async (path: string): Promise<Side> => {
      const folder = await openFolder(resolve(io.cwd, path));
      opened.push(folder);
      const reading = readSkill(folder, { mode: 'lenient', dialect: input.value('dialect') as DialectName | null });
      const digests = await digestFiles(folder);
      return { path, folder, reading, skill: reading.skill, digests, digest: await digestFolder(folder) };
    };
    const a = await open(before);
    const b = await open(after);
    const diff = diffSkills(a, b);
    if (input.flag('json')) io.out(`${JSON.stringify({ a: describe(a), b: describe(b), ...diff }, null, 2)}\n`);
    else print(a, b, diff, io);
    return diff.equal ? EXIT.ok : EXIT.failed;
  } finally {
    for (const folder of opened) folder.close();
  }
}

function describe({ path, reading, digest }: Side): object {
  const { dialect, skill } = reading;
  return { path, dialect, name: skill?.name ?? null, version: skill?.version ?? null, digest, loads: skill !== null };
}

function print(a: Side, b: Side, diff: SkillDiff, io: Io): void {
  for (const { path, skill } of [a, b]) {
    if (skill === null)
      io.err(`${io.paint('yellow', 'note')}: ${visibleLine(path, 120)} does not load; only its files are compared\n`);
  }
  if (diff.equal) {
    io.out('no difference\n');
    return;
  }
  if (diff.fields.length > 0) io.out(`${io.paint('bold', 'fields')}\n`);
  for (const change of diff.fields) io.out(renderField(change, io.paint));
  for (const change of diff.files) io.out(renderFile(change, io.paint));
  const lines = diff.files
    .flatMap(({ content }) => (content.kind === 'text' ? content.hunks : []))
    .flatMap(hunk => hunk.lines);
  const count = (kind: DiffLine['kind']) => lines.filter(line => line.kind === kind).length;
  const what = `${plural(diff.fields.length, 'field')} and ${plural(diff.files.length, 'file')} differ`;
  io.out(`${what} ${io.paint('dim', `(+${count('added')} -${count('removed')} lines)`)}\n`);
}
