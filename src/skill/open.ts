import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import { openArchive } from './archive.ts';
import { openDirectory } from './directory.ts';
import type { Folder } from './folder.ts';
import type { FolderLimits } from './limits.ts';

/** A skill by any of its paths: its folder, the SKILL.md in it, or a zip (by content: `.zip`, `.skill`, anything). */
export async function openFolder(path: string, limits: Partial<FolderLimits> = {}): Promise<Folder> {
  const shown = visibleLine(path);
  switch (kindOf(path)) {
    case 'directory':
      return openDirectory(path, limits);
    case 'skill-md':
      return openDirectory(dirname(path), limits);
    case 'zip':
      return openArchive(path, limits);
    case 'missing':
      throw new SkillboxError('NOT_FOUND', `There is no ${shown}`, {
        hint: 'Give the path of a skill folder, of its SKILL.md, or of a zip of it.',
      });
    case 'unreadable':
      throw new SkillboxError('UNREADABLE', `${shown} cannot be read`);
    case 'other':
      throw new SkillboxError('NOT_A_SKILL', `${shown} is neither a folder nor a zip`, {
        hint: 'Give the folder that holds SKILL.md, or a zip of it.',
      });
  }
}

export type PathKind = 'directory' | 'skill-md' | 'zip' | 'missing' | 'unreadable' | 'other';

/** What stands there, without opening what is neither a folder nor a file. */
export function kindOf(path: string): PathKind {
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) return 'directory';
    // Not opened: a device may act on being read, a FIFO waits for a writer.
    if (!stats.isFile()) return 'other';
    if (basename(path).toLowerCase() === 'skill.md') return 'skill-md';
    return startsLikeZip(path) ? 'zip' : 'other';
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR' || errno === 'ELOOP' || errno === 'ENAMETOOLONG') return 'missing';
    if (errno === 'EACCES' || errno === 'EPERM') return 'unreadable';
    throw error;
  }
}

function startsLikeZip(path: string): boolean {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const start = Buffer.alloc(2);
    return readSync(fd, start, 0, 2, 0) === 2 && start.toString('latin1') === 'PK';
  } finally {
    closeSync(fd);
  }
}
