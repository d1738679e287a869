import { linkSync, mkdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chance, errnoOf, SkillboxError } from '../base/index.ts';
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
export function takeLock(directory: string, name: string): { release(): void } | null {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const own = writeAside(directory);
  try {
    const path = join(directory, name);
    if (takeName(directory, own, path)) return { release: () => removeIfThere(path) };
    if (readLock(path) !== 'damaged') return null;
    throw new SkillboxError('INTERNAL', `${path} does not say who holds it: it is damaged.`, {
      hint: 'If no Skillbox uses this directory now, remove that file.',
    });
  } finally {
    removeIfThere(own);
  }
}

/** With a lock that was written aside: one serves for trying many names. */
export function takeName(directory: string, own: string, path: string): boolean {
  return tryLink(own, path) || replaceDead(directory, own, path);
}

export function writeAside(directory: string): string {
  const token = chance(8).toString('hex');
  const path = join(directory, `.${token}`);
  writeFileSync(path, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  return path;
}

export function replaceDead(directory: string, own: string, path: string): boolean {
  const held = readLock(path);
  // Whoever wrote what cannot be read may be alive.
  if (held === null || held === 'damaged' || isAlive(held.owner)) return false;
  const ticket = `${path}.taken.${held.token}`;
  if (!tryLink(own, ticket)) return false;
  // Ours alone from here: nobody else may replace this lock, and its owner is dead. Unless someone already did, and
  // gave the name back, between our reading and now.
  const now = readLock(path);
  if (now === null || now === 'damaged' || now.token !== held.token) {
    removeIfThere(ticket);
    return false;
  }
  const fresh = join(directory, `.${chance(8).toString('hex')}`);
  linkSync(own, fresh);
  renameSync(fresh, path);
  removeIfThere(ticket);
  return true;
}

/** Null: released meanwhile. */
export function readLock(path: string): Lock | 'damaged' | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Lock; // ours, or cut short
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    if (error instanceof SyntaxError) return 'damaged';
    throw error;
  }
}

/** Longer than anybody is between making a file and writing it. */
const UNWRITTEN_MS = 60_000;

/** Whether a file that was written aside is a dead process's. One that is not whole is being written, or its writer was killed. */
export function isLeftAside(path: string): boolean {
  const held = readLock(path);
  if (held !== 'damaged') return held !== null && !isAlive(held.owner);
  const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return made !== undefined && Date.now() - made > UNWRITTEN_MS;
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}
