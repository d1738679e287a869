import { SkillboxError } from '../base/index.ts';
import type { DialectName, Folder, Skill } from '../skill/index.ts';
import { findBeyondModel } from './convert/beyond.ts';
import type { Conversion, ConvertedFile, Notes } from './convert/conversion.ts';
import { type Form, formOf } from './convert/forms.ts';
import { compareModels, findLosses } from './convert/losses.ts';
import { plannedFolder } from './convert/planned-folder.ts';
import { DOCUMENTED, fieldsOfSheet, fillSheet, type Sheet } from './convert/sheet.ts';
import { describesTools, documentTools, toolsFromScripts } from './convert/tool-sections.ts';
import { readSkill } from './read.ts';
import { findEntrypoints } from './skillbox.ts';
import { MANIFEST_NAMES, parseDocument } from './source.ts';
import { renderDocument, renderYaml } from './write.ts';

export type { Conversion, ConvertedFile, Loss } from './convert/conversion.ts';

/**
 * Writes a skill in another dialect. What was lost is not what the writer believes to have left out: the planned result
 * is read by the one reader and compared with the source, field by field, so nothing can get lost in silence.
 */
export function convertSkill(skill: Skill, folder: Folder, to: DialectName): Conversion {
  const form = formOf(to, findEntrypoints(folder).length > 0);
  const notes: Notes = new Map();
  const sheet = fillSheet(skill, form, notes);
  const { instructions, added } = writeInstructions(skill, folder, form, notes);
  const plan = () => planFiles(skill, folder, form, sheet, instructions, added);
  if (to === 'agent-skills') documentNeeds(skill, readBack(skill, plan(), folder, to), sheet, form, notes);
  const files = plan();
  const result = readBack(skill, files, folder, to);
  return {
    files,
    losses: [...findLosses(skill, result, notes), ...findBeyondModel(folder, skill.dialect)],
    skill: result,
  };
}

function writeInstructions(
  skill: Skill,
  folder: Folder,
  form: Form,
  notes: Notes,
): { instructions: string; added: ConvertedFile[] } {
  if (form.dialect === 'gibberish' && !describesTools(skill.instructions)) {
    const { text, files } = toolsFromScripts(skill, folder, notes);
    return { instructions: text, added: files };
  }
  // A seksbot skill is known by its manifest, so its text may hold what it likes.
  const free = form.dialect === 'gibberish' || form.dialect === 'seksbot';
  return { instructions: free ? skill.instructions : documentTools(skill.instructions, skill.tools, notes), added: [] };
}

function documentNeeds(skill: Skill, result: Skill, sheet: Sheet, form: Form, notes: Notes): void {
  for (const { field } of compareModels(skill, result)) {
    const text = DOCUMENTED[field]?.text(skill) ?? null;
    const key = DOCUMENTED[field]?.key ?? '';
    if (text === null || Object.hasOwn(sheet.shelf, key)) continue;
    sheet.shelf[key] = text;
    notes.set(field, { why: null, kept: `${form.shelf.path}.${key}` });
  }
}

/** Every file of the source comes along unchanged, save those that the result writes itself or would be misled by. */
function planFiles(
  skill: Skill,
  folder: Folder,
  form: Form,
  sheet: Sheet,
  instructions: string,
  added: readonly ConvertedFile[],
): ConvertedFile[] {
  const bundled = new Set([...skill.scripts, ...skill.resources].map(({ path }) => path));
  const copies = folder.files
    .filter(({ path }) => bundled.has(path) && !isDefinition(path))
    .map(({ path, executable }): ConvertedFile => ({ path, executable, source: 'copy', from: path }));
  return [...writeDefinition(skill, sheet, form, instructions), ...added, ...copies];
}

function isDefinition(path: string): boolean {
  const lower = path.toLowerCase();
  return lower === 'skill.md' || MANIFEST_NAMES.some(name => name === lower);
}

function writeDefinition(skill: Skill, sheet: Sheet, form: Form, instructions: string): ConvertedFile[] {
  const fields = fieldsOfSheet(sheet, form);
  const text = (path: string, content: string): ConvertedFile => ({
    path,
    executable: false,
    source: 'text',
    text: content,
  });
  if (form.dialect !== 'seksbot') return [text('SKILL.md', renderDocument(fields, instructions))];
  // Text that looks like frontmatter would be cut off; behind frontmatter of our own it is safe.
  const misread = parseDocument({ path: 'SKILL.md', text: instructions, encoding: 'utf-8' }).body !== instructions;
  const header = { name: skill.name, description: skill.description };
  return [
    text('skill.yaml', renderYaml(fields)),
    text('SKILL.md', misread ? renderDocument(header, instructions) : instructions),
  ];
}

function readBack(skill: Skill, files: readonly ConvertedFile[], folder: Folder, to: DialectName): Skill {
  const reading = readSkill(plannedFolder(skill.name, files, folder), { mode: 'lenient', dialect: null });
  if (reading.skill !== null && reading.dialect === to) return reading.skill;
  const error = reading.diagnostics.find(({ severity }) => severity === 'error');
  const why = error?.message ?? `it would be read as ${reading.dialect ?? 'no skill'}: ${reading.evidence}`;
  throw new SkillboxError('INVALID_SKILL', `${skill.name} cannot be written as ${to}: ${why}`, {
    hint: 'Change the skill so that this no longer holds, and convert it again.',
    details: { diagnostics: reading.diagnostics },
  });
}
