import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chance, SkillboxError } from '../base/index.ts';
import { sameOwner, thisOwner } from './owner.ts';
import { isLeftAside, readLock, removeIfThere, replaceDead, takeName, writeAside } from './owner-lock.ts';

/** `locks` is one directory for the whole host, whatever data directories are in use: uids are the host's. */
export type UidRange = { first: number; count: number; locks: string };
export const DEFAULT_UIDS: UidRange = { first: 200_000, count: 10_000, locks: '/run/skillbox/uids' };

/**
 * One host uid per run, held by a lock named after it, so that no two runs of any process on this host share one: with a
 * shared uid a run could signal, trace or read another. A name that stays taken costs one uid of a large range.
 */
export function takeUid(range: UidRange): { uid: number; release(): void } {
  const directory = range.locks;
  const held = heldIn(directory);
  if (held !== null) return takeOne(range, held);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const own = writeAside(directory);
  try {
    return takeOne(range, own);
  } finally {
    removeIfThere(own);
  }
}

/** A lock of ours says the same as a new one would: another name for it will do. Unless somebody has cleared the directory. */
function heldIn(directory: string): string | null {
  const path = [...locks].find(one => dirname(one) === directory);
  const lock = path === undefined ? null : readLock(path);
  return path !== undefined && lock !== null && lock !== 'damaged' && sameOwner(lock.owner, thisOwner()) ? path : null;
}

/** Of this process. */
const locks = new Set<string>();

function takeOne(range: UidRange, own: string): { uid: number; release(): void } {
  const start = chance(4).readUInt32LE() % range.count;
  for (let step = 0; step < range.count; step++) {
    const uid = range.first + ((start + step) % range.count);
    const path = join(range.locks, String(uid));
    if (!takeName(range.locks, own, path)) continue;
    locks.add(path);
    const release = () => {
      locks.delete(path);
      removeIfThere(path);
    };
    return { uid, release };
  }
  throw new SkillboxError('SANDBOX_UNAVAILABLE', `All ${range.count} uids from ${range.first} on are in use.`, {
    hint: 'Wait for runs to end, or configure a larger uid range.',
  });
}

/** Leftovers of dead processes: files aside, and locks, each replaced before it is removed. */
export function sweepUids(directory: string): void {
  if (!existsSync(directory)) return;
  const names = readdirSync(directory);
  if (names.length === 0) return;
  const own = writeAside(directory);
  try {
    for (const name of names) {
      const path = join(directory, name);
      if (/^\d+$/.test(name)) {
        if (replaceDead(directory, own, path)) removeIfThere(path);
      } else if (name.startsWith('.')) {
        if (isLeftAside(path)) removeIfThere(path);
      }
    }
  } finally {
    removeIfThere(own);
  }
}
