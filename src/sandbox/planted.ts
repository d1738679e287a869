import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { lookThrough, ROOT } from './look-through.ts';
import { isPlainRebase, isPlainRepository } from './new-repository.ts';
import type { ProtectionPlan } from './protect.ts';
import { openShut } from './shut.ts';
import { isOutOfReach, kindOf, parents } from './tree-paths.ts';

/** Where a running skill cannot swap the parent for a link: at the root, and in a git directory that is held. */
export function isSteady(path: string): boolean {
  return !path.includes('/') || /^\.git\/[^/]+$/.test(path);
}

/** An absent path's state, to be compared: a link that points elsewhere now counts as planted. */
export async function lookAt(root: string, paths: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (const path of paths) {
    try {
      const info = await lstat(join(root, path));
      states.set(path, `${info.ino}:${info.mode}:${info.mtimeMs}:${info.size}`);
    } catch (error) {
      if (!isOutOfReach(error)) throw error;
    }
  }
  return states;
}

/** What a run shut above the paths that are looked at is opened again: they would be obeyed as soon as their owner opens it. */
export function openAbove(root: string, paths: readonly string[]): void {
  const above = new Set(['', ...paths.flatMap(parents)]);
  for (const path of [...above].sort()) openShut(join(root, path));
}

/** Guarded paths that came into being since `before`. */
export async function findPlanted(
  root: string,
  paths: readonly string[],
  before: ReadonlyMap<string, string>,
): Promise<string[]> {
  const now = await lookAt(root, paths);
  return [...now].filter(([path, state]) => before.get(path) !== state).map(([path]) => path);
}

/** What others would obey below the root, and was not there. Not complete: there is too much to look through, and more may be in it. */
export async function findPlantedBelow(
  root: string,
  { known, rebases, shut }: Pick<ProtectionPlan, 'known' | 'rebases' | 'shut'>,
): Promise<{ planted: string[]; complete: boolean }> {
  const { git, guarded, complete } = await lookThrough(root, { shut: new Set(shut) });
  const before = new Set(known);
  const planted = guarded.filter(path => !before.has(path));
  for (const path of git) {
    if (before.has(path) || (await isPlainRepository(join(root, path)))) continue;
    planted.push(path === ROOT ? 'HEAD' : path); // without it the root is no git directory any more
  }
  for (const path of rebases) {
    if ((await kindOf(join(root, path))) !== 'absent' && !(await isPlainRebase(join(root, path)))) planted.push(path);
  }
  return { planted, complete };
}
