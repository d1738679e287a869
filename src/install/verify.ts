import { existsSync, readdirSync } from 'node:fs';
import { SkillboxError } from '../base/index.ts';
import { isInPlace, lookAt, type OnDisk, type Place, placesOf } from './disk.ts';
import { type LockedSkill, readLock } from './lock-file.ts';
import type { Scope } from './scope.ts';
import { wasInterrupted } from './transaction.ts';

/** One thing on disk that is not as the lock says. */
export type Difference = { skill: string; path: string; file: string | null; what: string };

export type Verified = {
  skills: number;
  differences: Difference[];
  /** In the store, but in no lock: nobody knows where they came from. */
  unlocked: string[];
};

/** Compares the disk with the lock. Reads only. */
export async function verifyInstalled(scope: Scope): Promise<Verified> {
  const lock = readLock(scope.lockPath);
  // Nothing to compare with is no comparison: whoever checks in the wrong folder must not be told that all is well.
  if (!existsSync(scope.lockPath)) {
    throw new SkillboxError('NOT_FOUND', `there is no ${scope.lockPath} to compare with`, {
      hint: 'skillbox add writes one; go to the folder that has it, or use --global.',
    });
  }
  const differences: Difference[] = [];
  if (wasInterrupted(scope)) {
    const what = 'holds an interrupted change; the next command that changes skills takes it back';
    differences.push({ skill: '', path: scope.staging, file: null, what });
  }
  for (const skill of lock.values()) {
    for (const place of placesOf(scope, skill)) differences.push(...(await compare(scope, skill, place)));
  }
  return { skills: lock.size, differences, unlocked: listed(scope.store).filter(name => !lock.has(name)) };
}

async function compare(scope: Scope, skill: LockedSkill, place: Place): Promise<Difference[]> {
  const disk = await lookAt(place.path);
  if (isInPlace(scope, place, skill.name, skill.digest, disk)) return [];
  const about = (file: string | null, what: string) => ({ skill: skill.name, path: place.path, file, what });
  if (disk.kind === 'none') return [about(null, 'is missing')];
  if (place.what === 'link') return [about(null, 'is not the link to the stored copy')];
  if (disk.kind !== 'folder') return [about(null, 'is not a readable folder')];
  const found = [
    ...compareFiles(skill, disk, about),
    ...disk.problems.map(({ file, message }) => about(file, message)),
  ];
  return found.length > 0 ? found : [about(null, 'differs')];
}

function* compareFiles(
  { files }: LockedSkill,
  disk: Extract<OnDisk, { kind: 'folder' }>,
  about: (file: string, what: string) => Difference,
): Generator<Difference> {
  for (const [path, locked] of files) {
    const file = disk.files.get(path);
    if (file === undefined) yield about(path, 'is missing');
    else if (file.sha256 !== locked.sha256) yield about(path, 'was changed');
    else if (file.executable !== locked.executable)
      yield about(path, file.executable ? 'is executable now' : 'is executable no longer');
  }
  for (const path of disk.files.keys()) if (!files.has(path)) yield about(path, 'was added');
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // no store: nothing is installed
  }
}
