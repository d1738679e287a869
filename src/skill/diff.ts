import { compareFields, type FieldChange, fieldsOf } from './diff-fields.ts';
import { type DiffWork, diffText, type Hunk } from './diff-text.ts';
import { comparePaths, type FileEntry, type Folder } from './folder.ts';
import type { Skill } from './skill.ts';

export { compareFields, type FieldChange, fieldsOf } from './diff-fields.ts';
export type { DiffLine, Hunk } from './diff-text.ts';

/** What differs between two skills: fields of the model, files, and the text of files. */

/** A skill that does not load has no fields to compare; its files are compared all the same. */
export type DiffSide = { skill: Skill | null; folder: Folder; digests: ReadonlyMap<string, string> };

export type FileState = { size: number; executable: boolean; digest: string };
export type FileChange = {
  path: string;
  /** `mode`: the same content, but the executable bit differs. */
  change: 'added' | 'removed' | 'changed' | 'mode';
  before: FileState | null;
  after: FileState | null;
  content: ContentChange;
};
export type ContentChange =
  | { kind: 'text'; hunks: Hunk[]; minimal: boolean }
  | { kind: 'same' }
  /** Told apart by size and digest only. */
  | { kind: 'binary' }
  | { kind: 'large' };

export type SkillDiff = { equal: boolean; fields: FieldChange[]; files: FileChange[] };

/** Text beyond these is compared by digest only, so that no two skills can keep anybody waiting. */
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_TEXT_LINES = 20_000;
const MAX_TOTAL_BYTES = 8 * 1024 ** 2;
const MAX_STEPS = 40_000_000;

/** The SHA-256 of every file of a folder. */
export async function digestFiles(folder: Folder): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const { path } of folder.files) {
    const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
    for await (const chunk of folder.stream(path)) hash.update(chunk);
    digests.set(path, hash.digest('hex'));
  }
  return digests;
}

export function diffSkills(before: DiffSide, after: DiffSide): SkillDiff {
  const fields = diffFields(before.skill, after.skill);
  const files = diffFiles(before, after);
  return { equal: fields.length === 0 && files.length === 0, fields, files };
}

/** Scripts and resources are left out: as files they are compared more closely. */
function diffFields(before: Skill | null, after: Skill | null): FieldChange[] {
  if (before === null || after === null) return [];
  const changes = compareFields(fieldsOf(before), fieldsOf(after));
  return changes.filter(({ field }) => !field.startsWith('scripts.') && !field.startsWith('resources.'));
}

type Budget = { bytes: number; work: DiffWork };

function diffFiles(before: DiffSide, after: DiffSide): FileChange[] {
  const paths = [...new Set([...before.folder.files, ...after.folder.files].map(file => file.path))].sort(comparePaths);
  const budget: Budget = { bytes: MAX_TOTAL_BYTES, work: { left: MAX_STEPS } };
  const changes: FileChange[] = [];
  for (const path of paths) {
    const old = stateOf(before, path);
    const fresh = stateOf(after, path);
    const sameContent = old?.digest === fresh?.digest;
    if (sameContent && old?.executable === fresh?.executable) continue;
    const change = old === null ? 'added' : fresh === null ? 'removed' : sameContent ? 'mode' : 'changed';
    const content: ContentChange = sameContent ? { kind: 'same' } : compareContent(path, before, after, budget);
    changes.push({ path, change, before: old, after: fresh, content });
  }
  return changes;
}

function stateOf(side: DiffSide, path: string): FileState | null {
  const file: FileEntry | null = side.folder.file(path);
  if (file === null) return null;
  return { size: file.size, executable: file.executable, digest: side.digests.get(path) ?? '' };
}

function compareContent(path: string, before: DiffSide, after: DiffSide, budget: Budget): ContentChange {
  const sizes = [before, after].map(side => side.folder.file(path)?.size ?? 0);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.some(size => size > MAX_TEXT_BYTES) || total > budget.bytes) return { kind: 'large' };
  budget.bytes -= total;
  const [old, fresh] = [textOf(before.folder, path), textOf(after.folder, path)];
  if (old === null || fresh === null) return { kind: 'binary' };
  if (countLines(old) > MAX_TEXT_LINES || countLines(fresh) > MAX_TEXT_LINES) return { kind: 'large' };
  return { kind: 'text', ...diffText(old, fresh, budget.work) };
}

/** The text of a file, empty where there is none; null when it is not text. */
function textOf(folder: Folder, path: string): string | null {
  if (folder.file(path) === null) return '';
  const bytes = folder.read(path, MAX_TEXT_BYTES);
  if (bytes.includes(0)) return null;
  try {
    // A byte order mark is kept: one that was added is a difference.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // the decoder's way of saying no
  }
}

function countLines(text: string): number {
  let lines = 0;
  for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1)) lines++;
  return lines;
}
