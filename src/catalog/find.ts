import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { MARKER, SKIPPED } from './markers.ts';

const MAX_DEPTH = 8;
const MAX_DIRECTORIES = 100_000;
const ARCHIVE = /\.(?:zip|skill)$/i;

/**
 * The skills at or below a directory, in the order of their paths: the directory itself if it is one, otherwise every
 * folder with a SKILL.md or a manifest, and every archive. A skill is not searched for further skills.
 */
export function findSkills(directory: string): string[] {
  const found: string[] = [];
  let visited = 0;
  const walk = (path: string, depth: number, followed: boolean): void => {
    if (++visited > MAX_DIRECTORIES) {
      throw new SkillboxError('USAGE', `more than ${MAX_DIRECTORIES} directories below ${directory}`, {
        hint: 'Name the directories that hold the skills.',
      });
    }
    // The usual name is looked for first: one call, where listing the folder takes several.
    if (isFile(join(path, 'SKILL.md'))) {
      found.push(path);
      return;
    }
    const entries = list(path);
    if (entries.some(entry => MARKER.test(entry.name) && !entry.isDirectory())) {
      found.push(path);
      return;
    }
    // a skill folder that is itself a link is followed, but nothing below such a link is searched.
    if (depth >= MAX_DEPTH || followed) return;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const inner = join(path, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) walk(inner, depth + 1, false);
      else if (entry.isSymbolicLink() && isDirectory(inner)) walk(inner, depth + 1, true);
      else if (entry.isFile() && ARCHIVE.test(entry.name)) found.push(inner);
    }
  };
  walk(directory, 0, false);
  return found;
}

function list(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (cause) {
    const code = errnoOf(cause);
    // What may not be entered holds no skill that this user could read; what vanished meanwhile is not there.
    if (code === 'EACCES' || code === 'EPERM' || code === 'ENOENT') return [];
    throw new SkillboxError('UNREADABLE', `cannot list ${path}: ${code ?? String(cause)}`, { cause });
  }
}

function isFile(path: string): boolean {
  return look(path)?.isFile() ?? false;
}

function isDirectory(path: string): boolean {
  return look(path)?.isDirectory() ?? false;
}

// A link that leads in a circle or to a name that no file can have, and what lies where this user may not go.
const OUT_OF_REACH = new Set(['ELOOP', 'ENAMETOOLONG', 'EACCES', 'EPERM']);

/** Null when nothing is there that could be read: one bad link among a stranger's files must not end the whole search. */
function look(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (cause) {
    const code = errnoOf(cause);
    if (code !== null && OUT_OF_REACH.has(code)) return null;
    throw new SkillboxError('UNREADABLE', `cannot look at ${path}: ${code ?? String(cause)}`, { cause });
  }
}
