import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, makePrivate, SkillboxError } from '../base/index.ts';
import type { Owners } from './catalog.ts';

const STAGING = '.import-';
const TRASH = '.trash-';

/** Runs `body` with a directory that is gone afterwards, whatever happens; a killed process' is swept by the next. */
export async function withStaging<T>(directory: string, owners: Owners, body: (at: string) => Promise<T>): Promise<T> {
  makePrivate(directory);
  await sweepStaging(directory, owners);
  const staging = join(directory, `${STAGING}${randomUUID()}`);
  mkdirSync(staging, { mode: 0o700 });
  try {
    await writeFile(join(staging, 'owner'), owners.mine());
    return await body(staging);
  } catch (error) {
    throw translate(error, directory);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

export function trashPath(directory: string): string {
  return join(directory, `${TRASH}${randomUUID()}`);
}

/** What is in the bin is nobody's; what an import left is its owner's while that lives. */
export async function sweepStaging(directory: string, owners: Owners): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (name.startsWith(TRASH)) await rm(path, { recursive: true, force: true });
    if (!name.startsWith(STAGING)) continue;
    const owner = await readFile(join(path, 'owner'), 'utf8').catch(() => null); // being made just now, or nearly gone
    if (owner !== null && owner !== '' && !owners.isAlive(owner)) await rm(path, { recursive: true, force: true });
  }
}

function translate(error: unknown, directory: string): unknown {
  if (error instanceof SkillboxError) return error;
  const errno = errnoOf(error);
  if (errno === null || !/^E[A-Z]+$/.test(errno)) return error;
  const code = ['EACCES', 'EPERM', 'EIO', 'EISDIR'].includes(errno) ? 'UNREADABLE' : 'UNWRITABLE';
  return new SkillboxError(code, `cannot import into ${directory}: ${String(error)}`, { cause: error });
}
