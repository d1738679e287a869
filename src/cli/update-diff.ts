import { readSkill } from '../dialects/index.ts';
import { type Loaded, type LockedSkill, type Scope, storedAt } from '../install/index.ts';
import { type DiffSide, diffSkills, digestFiles, type Folder, openDirectory, type SkillDiff } from '../skill/index.ts';
import type { Paint } from './io.ts';
import { renderField, renderFile } from './render-diff.ts';

/** What is on disk against what would come: also what somebody edited since shows. Null: there is nothing on disk. */
export async function diffInstalled(scope: Scope, { name }: LockedSkill, now: Loaded): Promise<SkillDiff | null> {
  let folder: Folder;
  try {
    folder = openDirectory(storedAt(scope, name));
  } catch {
    return null; // it was removed, or is no folder: what comes is all new
  }
  try {
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    const before: DiffSide = { folder, skill, digests: await digestFiles(folder) };
    const after = { folder: now.content, skill: now.reading.skill, digests: await digestFiles(now.content) };
    return diffSkills(before, after);
  } finally {
    folder.close();
  }
}

export function renderSkillDiff({ fields, files }: SkillDiff, paint: Paint): string {
  return [...fields.map(one => renderField(one, paint)), ...files.map(one => renderFile(one, paint))].join('');
}
