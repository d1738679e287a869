import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { isAlive, thisOwner } from './owner.ts';
import type { Owner } from './sandbox.ts';

/** `locks` is one directory for the whole host, whatever data directories are in use: uids are the host's. */
export type UidRange = { first: number; count: number; locks: string };
export const DEFAULT_UIDS: UidRange = { first: 200_000, count: 10_000, locks: '/run/skillbox/uids' };

type Lock = { owner: Owner; token: string };

/**
 * One host uid per run, held by a file named after it, so that no two runs of any process on this host share
 * one: with a shared uid a run could signal, trace or read another.
 *
 * A lock appears complete (written aside, then linked). A dead owner's lock is replaced by whoever first links
 * `<uid>.taken.<its token>`: only its holder may replace that lock, and it
 * looks again first, so two processes that see the same dead owner cannot both take its place. If the winner dies in between, that uid stays unused; the range is large.
 */
export async function takeUid(range: UidRange): Promise<{ uid: number; release(): Promise<void> }> {
  const directory = range.locks;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const token = randomBytes(8).toString('hex');
  const own = join(directory, `.${token}`);
  await writeFile(own, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  try {
    const start = randomBytes(4).readUInt32LE() % range.count;
    for (let step = 0; step < range.count; step++) {
      const uid = range.first + ((start + step) % range.count);
      const path = join(directory, String(uid));
      if ((await tryLink(own, path)) || (await replaceDead(directory, own, path)))
        return { uid, release: () => removeIfThere(path) };
    }
  } finally {
    await removeIfThere(own);
  }
  throw new SkillboxError('SANDBOX_UNAVAILABLE', `All ${range.count} uids from ${range.first} on are in use.`, {
    hint: 'Wait for runs to end, or configure a larger uid range.',
  });
}

async function replaceDead(directory: string, own: string, path: string): Promise<boolean> {
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

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function readLock(path: string): Promise<Lock | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Lock;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null; // released meanwhile
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Leftovers of dead processes: files aside, and locks, each replaced before it is removed. */
export async function sweepUids(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const token = randomBytes(8).toString('hex');
  const own = join(directory, `.${token}`);
  if (names.length === 0) return;
  await writeFile(own, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  try {
    for (const name of names) {
      const path = join(directory, name);
      if (/^\d+$/.test(name)) {
        if (await replaceDead(directory, own, path)) await removeIfThere(path);
      } else if (name.startsWith('.')) {
        const held = await readLock(path);
        if (held !== null && !isAlive(held.owner)) await removeIfThere(path);
      }
    }
  } finally {
    await removeIfThere(own);
  }
}
