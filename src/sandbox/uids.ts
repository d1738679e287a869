import { randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
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
 * looks again first, so two processes that see the same dead owner cannot both take its place. If the winner dies in
 * between, that uid stays unused; the range is large.
 */
export function takeUid(range: UidRange): { uid: number; release(): void } {
  const directory = range.locks;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const token = randomBytes(8).toString('hex');
  const own = join(directory, `.${token}`);
  writeFileSync(own, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  try {
    const start = randomBytes(4).readUInt32LE() % range.count;
    for (let step = 0; step < range.count; step++) {
      const uid = range.first + ((start + step) % range.count);
      const path = join(directory, String(uid));
      if (tryLink(own, path) || replaceDead(directory, own, path)) return { uid, release: () => removeIfThere(path) };
    }
  } finally {
    removeIfThere(own);
  }
  throw new SkillboxError('SANDBOX_UNAVAILABLE', `All ${range.count} uids from ${range.first} on are in use.`, {
    hint: 'Wait for runs to end, or configure a larger uid range.',
  });
}

function replaceDead(directory: string, own: string, path: string): boolean {
  const held = readLock(path);
  if (held === null || isAlive(held.owner)) return false;
  const ticket = `${path}.taken.${held.token}`;
  if (!tryLink(own, ticket)) return false;
  // Ours alone from here: nobody else may replace this lock, and its owner is dead. Unless someone already did, and
  // gave the name back, between our reading and now.
  if (readLock(path)?.token !== held.token) {
    removeIfThere(ticket);
    return false;
  }
  const fresh = join(directory, `.${randomBytes(8).toString('hex')}`);
  linkSync(own, fresh);
  renameSync(fresh, path);
  removeIfThere(ticket);
  return true;
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

function readLock(path: string): Lock | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Lock;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null; // released meanwhile
    throw error;
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Leftovers of dead processes: files aside, and locks, each replaced before it is removed. */
export function sweepUids(directory: string): void {
  if (!existsSync(directory)) return;
  const names = readdirSync(directory);
  const token = randomBytes(8).toString('hex');
  const own = join(directory, `.${token}`);
  if (names.length === 0) return;
  writeFileSync(own, JSON.stringify({ owner: thisOwner(), token } satisfies Lock), { flag: 'wx', mode: 0o600 });
  try {
    for (const name of names) {
      const path = join(directory, name);
      if (/^\d+$/.test(name)) {
        if (replaceDead(directory, own, path)) removeIfThere(path);
      } else if (name.startsWith('.')) {
        const held = readLock(path);
        if (held !== null && !isAlive(held.owner)) removeIfThere(path);
      }
    }
  } finally {
    removeIfThere(own);
  }
}
