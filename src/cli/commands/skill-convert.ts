import { resolve } from 'node:path';
import {
  EXIT,
  type JsonValue,
  renderDuration,
  renderSize,
  SkillboxError,
  visible,
  visibleLine,
} from '../../base/index.ts';
import {
  type Conversion,
  type ConvertedFile,
  convertSkill,
  type Loss,
  type Reading,
  readSkill,
} from '../../dialects/index.ts';
import {
  DIALECTS,
  type Diagnostic,
  type DialectName,
  digestFolder,
  type Folder,
  hasErrors,
  openDirectory,
  openFolder,
  type Skill,
} from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { countSeverities, plural, renderCounts, renderDiagnostic } from '../render-diagnostics.ts';
import { type FileToWrite, showPath, writeFolder } from '../write-folder.ts';

export const skillConvert: Command = {
  name: 'skill convert',
  summary: 'Write a skill in another dialect, and report field by field what that loses.',
  args: [{ name: 'DIR', help: 'the skill: a folder or a zip', required: true, many: false }],
  options: {
    to: { help: 'the dialect to write', value: 'D', choices: DIALECTS },
    output: { help: 'the folder to make; it must not be there yet', value: 'OUT', short: 'o' },
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    json: { help: 'print one JSON document' },
  },
  examples: [
    'skillbox skill convert ./word-count --to agent-skills -o out/word-count',
    'skillbox skill convert word-count-1.0.0.zip --to skillbox -o word-count   # exit 3: written, but it does not lint',
  ],
  run,
};

type Written = { path: string; digest: string; diagnostics: Diagnostic[] };

async function run(input: Input, io: Io): Promise<number> {
  const to = input.value('to') as DialectName | null;
  const output = input.value('output');
  if (to === null || output === null) {
    const missing = to === null ? '--to' : '-o';
    throw new SkillboxError('USAGE', `${missing} is missing`, {
      hint: 'usage: skillbox skill convert DIR --to D -o OUT',
    });
  }
  const folder = await openFolder(resolve(io.cwd, input.args[0] ?? '.'));
  try {
    const reading = readSkill(folder, { mode: 'lenient', dialect: input.value('dialect') as DialectName | null });
    if (reading.skill === null) return refuse(reading, input, io);
    const conversion = convertSkill(reading.skill, folder, to);
    const written = await write(conversion, folder, resolve(io.cwd, output));
    if (input.flag('json')) io.out(`${JSON.stringify(toJson(reading, conversion, to, written), null, 2)}\n`);
    else print(reading, reading.skill, conversion, to, written, io);
    return hasErrors(written.diagnostics) ? EXIT.invalidSkill : EXIT.ok;
  } finally {
    folder.close();
  }
}

function refuse(reading: Reading, input: Input, io: Io): never {
  if (!input.flag('json'))
    for (const diagnostic of reading.diagnostics) io.err(renderDiagnostic(diagnostic, null, io.paint));
  throw new SkillboxError('INVALID_SKILL', 'the skill cannot be loaded, so it cannot be converted', {
    details: { diagnostics: reading.diagnostics },
  });
}

async function write(conversion: Conversion, source: Folder, path: string): Promise<Written> {
  let written: Written | null = null;
  await writeFolder(
    path,
    conversion.files.map(file => toWrite(file, source)),
    async temporary => {
      written = { path, ...(await lint(temporary, conversion)) };
    },
  );
  if (written === null) throw new SkillboxError('INTERNAL', 'the result was not checked');
  return written;
}

function toWrite(file: ConvertedFile, source: Folder): FileToWrite {
  const content = file.source === 'text' ? file.text : source.stream(file.from);
  return { path: file.path, executable: file.executable, content };
}

/** Strictly, from the disk: what is reported is what is there. */
async function lint(path: string, conversion: Conversion): Promise<{ digest: string; diagnostics: Diagnostic[] }> {
  const folder = openDirectory(path);
  try {
    const missing = conversion.files.find(file => folder.file(file.path) === null);
    // The skill's own .skillboxignore comes along, and may name what the other dialect needs.
    if (missing !== undefined) {
      throw new SkillboxError('INVALID_SKILL', `${missing.path} would be left out of the converted skill`, {
        hint: 'Change .skillboxignore so that it does not match this file.',
      });
    }
    const { diagnostics } = readSkill(folder, { mode: 'strict', dialect: null });
    return { digest: await digestFolder(folder), diagnostics };
  } finally {
    folder.close();
  }
}

function toJson(reading: Reading, conversion: Conversion, to: DialectName, written: Written): object {
  return {
    path: written.path,
    from: reading.dialect,
    to,
    name: conversion.skill.name,
    version: conversion.skill.version,
    digest: written.digest,
    files: conversion.files.map(({ path, source }) => ({ path, source })),
    losses: conversion.losses,
    ok: !hasErrors(written.diagnostics),
    diagnostics: written.diagnostics.map(withoutFix),
    source: { diagnostics: reading.diagnostics.map(withoutFix) },
  };
}

function withoutFix({ fix: _fix, ...rest }: Diagnostic): Omit<Diagnostic, 'fix'> {
  return rest;
}

function print(
  reading: Reading,
  source: Skill,
  conversion: Conversion,
  to: DialectName,
  written: Written,
  io: Io,
): void {
  const { paint } = io;
  const repaired = countSeverities(reading.diagnostics);
  // What a repair guessed is written as if it had been meant, so whoever converts should know.
  if (repaired.error + repaired.warning > 0) {
    io.err(
      `${paint('yellow', 'note')}: the source was read with ${renderCounts(repaired)}; \`skillbox skill lint\` shows them\n`,
    );
  }
  io.out(`${paint('green', '✔')} ${paint('bold', visibleLine(showPath(written.path, io.cwd), 120))} `);
  io.out(`${paint('dim', `(${source.dialect} → ${to}, ${plural(conversion.files.length, 'file')})`)}\n`);
  if (conversion.losses.length === 0) io.out('  nothing is lost\n');
  else io.out(`  ${plural(conversion.losses.length, 'field')} read differently now:\n`);
  for (const loss of conversion.losses) io.out(renderLoss(loss, io));
  io.out(`lint: ${renderCounts(countSeverities(written.diagnostics))}\n`);
  for (const diagnostic of written.diagnostics) {
    if (diagnostic.severity !== 'info') io.out(renderDiagnostic(diagnostic, null, paint));
  }
}

function renderLoss({ field, value, why, kept }: Loss, { paint }: Io): string {
  // As the field is called in the file, not in the model.
  const where = kept === null ? '' : ` (kept as ${visibleLine(kept.replace(/^(?:about|extra)\./, ''), 80)})`;
  const shown = value === null ? paint('dim', 'nothing before') : visibleLine(renderValue(field, value), 80);
  return `  ${paint('yellow', visibleLine(field, 80))}  ${shown}\n    ${paint('dim', `${visible(why)}${where}`)}\n`;
}

function renderValue(field: string, value: JsonValue): string {
  if (typeof value === 'number' && field === 'needs.limits.timeoutMs') return renderDuration(value);
  if (typeof value === 'number' && field === 'needs.limits.memoryBytes') return renderSize(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
