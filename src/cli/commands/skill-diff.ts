import { resolve } from 'node:path';
import { EXIT, type JsonValue, renderSize, visible, visibleLine } from '../../base/index.ts';
import { type Reading, readSkill } from '../../dialects/index.ts';
import {
  DIALECTS,
  type DialectName,
  type DiffLine,
  type DiffSide,
  diffSkills,
  digestFiles,
  digestFolder,
  type FieldChange,
  type FileChange,
  type Folder,
  type Hunk,
  openFolder,
  type SkillDiff,
} from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io, Paint } from '../io.ts';
import { plural } from '../render-diagnostics.ts';

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

function renderField({ field, change, before, after }: FieldChange, paint: Paint): string {
  const name = `  ${visibleLine(field, 80)}`;
  if (field === 'instructions') return `${name}  ${paint('dim', 'changed; the text is below')}\n`;
  const lines = [`${name}\n`];
  if (change !== 'added') lines.push(`    ${paint('red', `- ${renderValue(before)}`)}\n`);
  if (change !== 'removed') lines.push(`    ${paint('green', `+ ${renderValue(after)}`)}\n`);
  return lines.join('');
}

function renderValue(value: JsonValue): string {
  return visibleLine(typeof value === 'string' ? value : JSON.stringify(value), 160);
}

function renderFile({ path, change, before, after, content }: FileChange, paint: Paint): string {
  const shown = visibleLine(path, 120);
  const lines = [`${paint('bold', `${change === 'mode' ? 'changed' : change} ${shown}`)}\n`];
  if (before !== null && after !== null && before.executable !== after.executable) {
    lines.push(`  ${after.executable ? 'now executable' : 'no longer executable'}\n`);
  } else if (before === null && after?.executable === true) lines.push('  executable\n');
  if (content.kind === 'binary' || content.kind === 'large') {
    const states = [before, after].map(state =>
      state === null ? 'none' : `${renderSize(state.size)} sha256:${state.digest.slice(0, 16)}`,
    );
    lines.push(
      `  ${content.kind === 'binary' ? 'not text' : 'too large to compare line by line'}: ${states.join(' → ')}\n`,
    );
  }
  if (content.kind === 'text') {
    lines.push(paint('red', `--- ${before === null ? '/dev/null' : `a/${shown}`}`), '\n');
    lines.push(paint('green', `+++ ${after === null ? '/dev/null' : `b/${shown}`}`), '\n');
    for (const hunk of content.hunks) lines.push(renderHunk(hunk, paint));
  }
  return lines.join('');
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;
const MAX_LINE = 1000;

function renderHunk({ oldStart, oldLines, newStart, newLines, lines }: Hunk, paint: Paint): string {
  const out = [`${paint('cyan', `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`)}\n`];
  for (const { kind, text, ended } of lines) {
    const cut = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
    const line = `${MARKS[kind]}${visible(cut)}`;
    out.push(`${kind === 'same' ? line : paint(kind === 'added' ? 'green' : 'red', line)}\n`);
    if (!ended) out.push(`${paint('dim', '\\ No newline at end of file')}\n`);
  }
  return out.join('');
}
