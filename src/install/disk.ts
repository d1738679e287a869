import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { type Diagnostic, digestFiles, digestFolder, openDirectory } from '../skill/index.ts';
import { agentOf } from './agents.ts';
import type { LockedFile, LockedSkill } from './lock-file.ts';
import { agentPlaces, type Scope } from './scope.ts';

/** What lies on disk in the place of an installed skill. */
export type OnDisk =
  | { kind: 'none' }
  | { kind: 'other' }
  | { kind: 'link'; target: string }
  | { kind: 'folder'; digest: string; files: Map<string, LockedFile>; problems: readonly Diagnostic[] };

export async function lookAt(path: string): Promise<OnDisk> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: 'none' };
  if (stats.isSymbolicLink()) return { kind: 'link', target: readlinkSync(path) };
  if (!stats.isDirectory()) return { kind: 'other' };
  try {
    return await readFolder(path);
  } catch (cause) {
    // A folder that is closed to us, or is being changed: nothing is known of it, so it is not what the lock says.
    if (cause instanceof SkillboxError || errnoOf(cause) !== null) return { kind: 'other' };
    throw cause;
  }
}

async function readFolder(path: string): Promise<OnDisk> {
  const folder = openDirectory(path);
  try {
    const sums = await digestFiles(folder);
    const files = new Map(
      folder.files.map(file => [file.path, { sha256: sums.get(file.path) ?? '', executable: file.executable }]),
    );
    // A second name elsewhere for the same bytes says nothing against the bytes, which are digested.
    const problems = folder.problems.filter(({ code }) => code !== 'folder-hard-link');
    return { kind: 'folder', digest: await digestFolder(folder), files, problems };
  } finally {
    folder.close();
  }
}

/** A path at which an installed skill is to be found, and how it gets there. */
export type Place = { path: string; what: 'store' | 'link' | 'copy' };

/** The stored copy first, then every agent's directory. */
export function placesOf(
  scope: Scope,
  { name, agents, method }: Pick<LockedSkill, 'name' | 'agents' | 'method'>,
): Place[] {
  const others = agentPlaces(scope, agents).map(({ path, agents: there }): Place => {
    const what = method === 'link' && there.every(id => agentOf(id).followsLinks) ? 'link' : 'copy';
    return { path: join(path, name), what };
  });
  return [{ path: storedAt(scope, name), what: 'store' }, ...others];
}

export function storedAt(scope: Scope, name: string): string {
  return join(scope.store, name);
}

/** Relative, so that a project can be moved. */
export function linkTarget(scope: Scope, path: string, name: string): string {
  return relative(dirname(path), storedAt(scope, name));
}

export function isInPlace(scope: Scope, place: Place, name: string, digest: string, disk: OnDisk): boolean {
  if (place.what === 'link') return disk.kind === 'link' && disk.target === linkTarget(scope, place.path, name);
  // A link inside would be followed by an agent, whatever its bytes are now.
  return disk.kind === 'folder' && disk.digest === digest && disk.problems.length === 0;
}
