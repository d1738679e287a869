import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../base/index.ts';
import { isAlive, thisOwner } from './owner.ts';
import type { Owner } from './sandbox.ts';

type Lock = { owner: Owner; token: string };

/**
 * A lock between processes, as a file that names its owner; null while a living process holds it.
 *
 * It appears complete (written aside, then linked). A dead owner's lock is replaced by whoever first links
 * `<name>.taken.<its token>`: only its holder may replace that lock, and it looks again first, so two processes that see
 * the same dead owner cannot both take its place. If the winner dies in between, that name stays taken.
 */
export async function takeLock(directory: string, name: string): Promise<{ release(): Promise<void> } | null> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const own = await writeAside(directory);
  try {
    const path = join(directory, name);
    const taken = (await tryLink(own, path)) || (await replaceDead(directory, own, path));
    return taken ? { release: () => removeIfThere(path) } : null;
  } finally {
    await removeIfThere(own);
  }
}

export async function writeAside(directory: string): Promise<string> {
  const token = randomBytes(8).toString('hex');
  const path = join(directory, `.${token}`);
  await writeFile(path, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  return path;
}

export async function replaceDead(directory: string, own: string, path: string): Promise<boolean> {
  const held = await readLock(path);
  if (held === null || isAlive(held.owner)) return false;
  const ticket = `${path}.taken.${held.token}`;
  if (!(await tryLink(own, ticket))) return false;
  // Ours alone from here: nobody else may replace this lock, and its owner is dead. Unless someone already did, and
  // gave the name back, between our reading and now.
  if ((await readLock(path))?.token !== held.token) {
    await removeIfThere(ticket);
    return false;
  }
  const fresh = join(directory, `.${randomBytes(8).toString('hex')}`);
  await link(own, fresh);
  await rename(fresh, path);
  await removeIfThere(ticket);
  return true;
}

export async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

export async function readLock(path: string): Promise<Lock | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Lock;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null; // released meanwhile
    throw error;
  }
}

export async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
