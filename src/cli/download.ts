import { mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { RunRecord, Skillbox } from '../app.ts';
import { errnoOf, isObeyed, makePath, partsOfRepositories, SkillboxError, visibleLine } from '../base/index.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';
import type { FilesIn } from './run-result.ts';

/** Where --download says; null without it. Asked and tried before the run: what it gives should find its place. */
export function downloadTarget(input: Input, io: Io): string | null {
  const wanted = input.value('download');
  if (wanted === null) return null;
  const directory = resolve(io.cwd, wanted);
  try {
    const there = statSync(directory, { throwIfNoEntry: false });
    if (there?.isDirectory() === false) {
      throw new SkillboxError('USAGE', `--download: ${wanted} is a file, not a directory`, {
        hint: 'Name a directory; it is made when it is not there.',
      });
    }
    if (!input.flag('dry-run')) tryDirectory(directory);
    return directory;
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('UNWRITABLE', `--download: cannot write to ${visibleLine(directory)} (${errnoOf(cause)})`, {
      hint: 'Name a directory that you may write to.',
      cause,
    });
  }
}

/** By making something in it: what the permissions say is not all, as on a file system that can only be read. */
function tryDirectory(directory: string): void {
  makePath(directory);
  rmdirSync(mkdtempSync(join(directory, '.skillbox-')));
}

/**
 * Writes the artifacts of a run below a directory. Each is written aside and renamed: a link that stands in its place is
 * replaced, never followed. A link in place of one of its directories is refused, for an earlier run may have left it there.
 * Threat: a skill that may write nothing here leaves `.git/config`, and whoever downloads into a project runs what that names.
 */
export async function download(record: RunRecord, skillbox: Skillbox, directory: string): Promise<FilesIn> {
  return downloadFrom(record, directory, async ({ sha256 }) => skillbox.readBlob(sha256));
}

type File = RunRecord['artifacts'][number];

export async function downloadFrom(
  record: Pick<RunRecord, 'id' | 'artifacts' | 'warnings'>,
  directory: string,
  open: (file: File) => Promise<AsyncIterable<Uint8Array>>,
): Promise<FilesIn> {
  // What a package or a CI obeys at the root of a project is an ordinary result where there was nothing before.
  const there = namesThere(directory);
  const repositories = partsOfRepositories(
    record.artifacts.map(({ path }) => path),
    folder => namesThere(join(directory, folder)),
  );
  const obeyed = new Set(
    record.artifacts.filter(({ path }) => isObeyed(path, there.length > 0) || repositories.has(path)),
  );
  for (const file of record.artifacts) {
    const { path } = file;
    if (obeyed.has(file)) continue;
    const target = join(directory, path);
    // Threat: a server that is not as ours, which would choose where on this machine it writes.
    if (!target.startsWith(join(directory, sep)))
      throw new SkillboxError('SOURCE_FAILED', `${visibleLine(path)} would be written out of ${directory}`);
    const aside = join(dirname(target), `.${record.id}.part`);
    try {
      makePath(directory);
      await makeDirectories(directory, path.split('/').slice(0, -1));
      // Not a stream: one that fails may still be opening its file, which would be there after it was removed.
      await writeFile(aside, await open(file), { flag: 'wx' });
      await rename(aside, target);
    } catch (cause) {
      await rm(aside, { force: true }).catch(() => undefined); // where nothing could be made, nothing is left
      if (cause instanceof SkillboxError) throw cause;
      throw new SkillboxError('UNWRITABLE', `cannot write ${target} (${errnoOf(cause) ?? String(cause)})`, {
        hint: `The run has ended all the same; what it gave: skillbox exec show ${record.id}`,
        cause,
      });
    }
  }
  const more = obeyed.size - MAX_TOLD;
  for (const { path } of [...obeyed].slice(0, MAX_TOLD))
    record.warnings.push(`${path} was not written to ${directory}: programs obey what it says`);
  if (more > 0) record.warnings.push(`${more} more of this kind were not written`);
  return { directory, left: new Set([...obeyed].map(({ path }) => path)) };
}

const MAX_TOLD = 20;

function namesThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it is made with its first file
  }
}

async function makeDirectories(root: string, names: readonly string[]): Promise<void> {
  let path = root;
  for (const name of names) {
    path = join(path, name);
    await mkdir(path).catch((error: unknown) => {
      if (errnoOf(error) !== 'EEXIST') throw error;
    });
    if (!(await lstat(path)).isDirectory()) {
      throw new SkillboxError('UNWRITABLE', `cannot write into ${path}: it is a link or a file`, {
        hint: 'Choose an empty directory, or remove what stands there.',
      });
    }
  }
}
