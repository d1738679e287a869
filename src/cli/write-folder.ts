import { lstat, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { errnoOf, makePath, SkillboxError } from '../base/index.ts';

/** A file to write: its whole text, or a stream of its content. */
export type FileToWrite = { path: string; executable: boolean; content: string | AsyncIterable<Buffer> };

/**
 * Writes a folder that was not there before: all of it or nothing. `check` sees the finished folder under its temporary
 * path and may still refuse it by throwing.
 */
export async function writeFolder(
  target: string,
  files: readonly FileToWrite[],
  check: (path: string) => Promise<void>,
): Promise<void> {
  if (await exists(target)) throw existsError(target);
  makeParent(target);
  let temporary: string | null = null;
  try {
    // In the same directory, so that the rename stays within one file system.
    temporary = await mkdtemp(join(dirname(target), '.skillbox-'));
    // Under its own name, for a skill is checked against the name of its folder.
    const folder = join(temporary, basename(target));
    await mkdir(folder);
    for (const file of files) await writeOne(folder, file);
    await check(folder);
    await rename(folder, target);
  } catch (cause) {
    throw translate(cause, target);
  } finally {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}

function makeParent(target: string): void {
  try {
    makePath(dirname(target));
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot write ${target}: ${errnoOf(cause) ?? String(cause)}`, { cause });
  }
}

async function writeOne(root: string, { path, executable, content }: FileToWrite): Promise<void> {
  const full = join(root, path);
  makePath(dirname(full));
  await writeFile(full, content, { flag: 'wx', mode: executable ? 0o777 : 0o666 });
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (cause) {
    const code = errnoOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new SkillboxError('UNWRITABLE', `cannot look at ${path}: ${code ?? String(cause)}`, { cause });
  }
}

function existsError(target: string): SkillboxError {
  return new SkillboxError('EXISTS', `${target} is already there`);
}

function translate(cause: unknown, target: string): unknown {
  if (cause instanceof SkillboxError) return cause;
  const code = errnoOf(cause);
  // Somebody was faster.
  if (code === 'EEXIST' || code === 'ENOTEMPTY') return existsError(target);
  return code === null ? cause : new SkillboxError('UNWRITABLE', `cannot write ${target}: ${code}`, { cause });
}

/** The path as a person in `cwd` would type it. */
export function showPath(path: string, cwd: string): string {
  const shown = relative(cwd, path);
  return shown === '' || shown.startsWith('..') || isAbsolute(shown) ? path : shown;
}
