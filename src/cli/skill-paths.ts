import { type Stats, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { findSkills } from '../catalog/index.ts';

/** Each path as given, or the skills below it, named so that the reader can find them again. */
export function expandPaths(paths: readonly string[], cwd: string): string[] {
  const found: string[] = [];
  for (const path of paths) {
    const absolute = resolve(cwd, path);
    if (!isDirectory(absolute, path)) {
      found.push(path);
      continue;
    }
    const skills = findSkills(absolute);
    // A folder that was meant to be a skill and has no SKILL.md is told so by the reader.
    if (skills.length === 0) found.push(path);
    found.push(...skills.map(skill => (skill === absolute ? path : relative(cwd, skill))));
  }
  return [...new Set(found)];
}

function isDirectory(absolute: string, given: string): boolean {
  let stats: Stats | undefined;
  try {
    stats = statSync(absolute, { throwIfNoEntry: false });
  } catch {
    return false; // whoever opens it says what is in the way
  }
  if (stats === undefined) throw new SkillboxError('NOT_FOUND', `there is nothing at ${given}`);
  return stats.isDirectory();
}
