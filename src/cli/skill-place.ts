import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Skillbox } from '../app.ts';
import { SkillboxError } from '../base/index.ts';
import { type Folder, openFolder } from '../skill/index.ts';
import type { Io } from './io.ts';

/** A skill that a person means, opened. `version` is that of the registry, where it comes from there. */
export type Meant = { folder: Folder; version: string | null };

/** A path, a skill of the catalog, or one that is published on this machine: `name@wanted`, or a name that the catalog lacks. */
export async function openMeant(word: string, skillbox: Pick<Skillbox, 'openPublished'>, io: Io): Promise<Meant> {
  const published = async (name: string, wanted: string | null): Promise<Meant> => {
    const { skill, folder } = await skillbox.openPublished(name, wanted);
    return { folder, version: skill.version };
  };
  const at = isPath(word, io) ? -1 : word.indexOf('@');
  if (at !== -1) return published(word.slice(0, at), word.slice(at + 1));
  try {
    return { folder: await openFolder(await placeOfSkill(word, io)), version: null };
  } catch (error) {
    if (!isMissing(error) || isPath(word, io)) throw error;
    return published(word, null).catch((other: unknown) => {
      throw isMissing(other) ? error : other;
    });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof SkillboxError && error.code === 'NOT_FOUND';
}

/** Where the skill lies that a person means: a path that is there, or else the name of a skill in the catalog. */
export async function placeOfSkill(word: string, io: Io): Promise<string> {
  if (isPath(word, io)) return resolve(io.cwd, word);
  // Loaded only here: whoever names a path waits for no search.
  const { localSkills, skillByName } = await import('./local-skills.ts');
  return skillByName(word, localSkills(io, [])).folder;
}

function isPath(word: string, io: Io): boolean {
  return /[/\\]|^\.{0,2}$/.test(word) || existsSync(resolve(io.cwd, word));
}
