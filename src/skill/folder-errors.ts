import { renderSize, SkillboxError, visibleLine } from '../base/index.ts';
import type { FileEntry } from './folder.ts';
import { showPath } from './names.ts';

/** What both carriers of a skill answer to a caller who asks for what is not there. */

export function missingFile(path: string): SkillboxError {
  const file = visibleLine(showPath(path));
  return new SkillboxError('NOT_FOUND', `The skill has no file ${file}`, { details: { file } });
}

export function closedFolder(path: string): SkillboxError {
  return new SkillboxError('INTERNAL', `${visibleLine(path)} was closed before it was read`);
}

/** Asked before a byte is read, so that nothing is allocated for a file that is too large. */
export function checkSize(entry: FileEntry, maxBytes: number): void {
  if (entry.size <= maxBytes) return;
  const file = showPath(entry.path);
  throw new SkillboxError('INVALID_SKILL', `${file} has ${renderSize(entry.size)}, over ${renderSize(maxBytes)}`, {
    hint: 'Make the file smaller, or split it.',
    details: { file, size: entry.size, maxBytes },
  });
}
