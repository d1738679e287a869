import { EXIT, type JsonObject } from '../../base/index.ts';
import { type Reading, readSkill, renderPreview, toolSchema } from '../../dialects/index.ts';
import { DIALECTS, type DialectName, digestFolder, type Folder, openFolder, type Skill } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { countSeverities, renderCounts, renderDiagnostic } from '../render-diagnostics.ts';
import { renderSkill } from '../render-skill.ts';
import { placeOfSkill } from '../skill-place.ts';

export const skillShow: Command = {
  name: 'skill show',
  summary: 'Show what Skillbox understands of a skill, read as a run would read it.',
  args: [
    { name: 'PATH|NAME', help: 'a folder, a zip, or the name of a skill in the catalog', required: true, many: false },
  ],
  options: {
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox skill show ./word-count', 'skillbox skill show --json word-count-1.0.0.zip'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const path = input.args[0] ?? '.';
  const folder = await openFolder(await placeOfSkill(path, io));
  try {
    const reading = readSkill(folder, { mode: 'lenient', dialect: input.value('dialect') as DialectName | null });
    const digest = await digestFolder(folder);
    if (input.flag('json')) io.out(`${JSON.stringify(toJson(path, reading, digest), null, 2)}\n`);
    else print(folder, reading, digest, io);
    return reading.skill === null ? EXIT.invalidSkill : EXIT.ok;
  } finally {
    folder.close();
  }
}

function toJson(path: string, { dialect, evidence, skill, diagnostics }: Reading, digest: string): object {
  return {
    path,
    dialect,
    evidence,
    digest,
    skill: skill === null ? null : withoutTools(skill),
    tools: skill === null ? [] : describeTools(skill),
    diagnostics: diagnostics.map(({ fix: _fix, ...rest }) => rest),
  };
}

function withoutTools({ tools: _tools, ...rest }: Skill): Omit<Skill, 'tools'> {
  return rest;
}

type ToolView = {
  name: string;
  description: string;
  template: string;
  preview: string;
  schema: JsonObject;
  line: number;
};

function describeTools(skill: Skill): ToolView[] {
  return skill.tools.map(tool => {
    const { name, description, template, line } = tool;
    return { name, description, template, preview: renderPreview(tool), schema: toolSchema(tool), line };
  });
}

function print(folder: Folder, { dialect, evidence, skill, diagnostics }: Reading, digest: string, io: Io): void {
  const { paint } = io;
  const known = {
    dialect: `${dialect ?? 'none'} ${paint('dim', `(${evidence})`)}`,
    digest,
    carrier: folder.origin.kind === 'archive' ? 'zip' : 'folder',
  };
  if (skill === null) io.out(`${paint('red', '✖')} ${paint('bold', 'not a skill that can be loaded')}\n`);
  io.out(renderSkill(skill, known, skill === null ? [] : describeTools(skill), paint));
  if (diagnostics.length > 0) io.out(`\n${paint('bold', 'diagnostics')}\n`);
  for (const diagnostic of diagnostics) io.out(renderDiagnostic(diagnostic, null, paint));
  io.out(`\n${renderCounts(countSeverities(diagnostics))}\n`);
}
