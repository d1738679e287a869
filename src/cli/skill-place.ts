import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Io } from './io.ts';

/** Where the skill lies that a person means: a path that is there, or else the name of a skill in the catalog. */
export async function placeOfSkill(word: string, io: Io): Promise<string> {
  const path = resolve(io.cwd, word);
  if (/[/\\]|^\.{0,2}$/.test(word) || existsSync(path)) return path;
  // Loaded only here: whoever names a path waits for no search.
  const { localSkills, skillByName } = await import('./local-skills.ts');
  return skillByName(word, localSkills(io, [])).folder;
}
