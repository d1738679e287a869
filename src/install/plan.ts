import { existsSync } from 'node:fs';
import { SkillboxError } from '../base/index.ts';
import { digestFiles, digestFolder, type Folder } from '../skill/index.ts';
import type { AgentId } from './agents.ts';
import { backupOf, type ConfigChange } from './configs.ts';
import { isInPlace, linkTarget, lookAt, type OnDisk, type Place, placesOf, storedAt } from './disk.ts';
import { type Judged, judgeSkill } from './judge.ts';
import { type Lock, type LockedSkill, type LockedSource, readLock, renderLock } from './lock-file.ts';
import type { Loaded } from './obtain.ts';
import { checkStore, type Scope } from './scope.ts';
import { repair } from './transaction.ts';

/** A skill that is to be there, with its bytes, and for whom. */
export type Wanted = {
  loaded: Loaded;
  agents: readonly AgentId[];
  method: 'link' | 'copy';
  nested: boolean;
  /** What another installer put in the agents' directories gives way. */
  adopt?: boolean;
};

export type PlannedSkill = Judged & {
  locked: LockedSkill;
  content: Folder;
  /** What the lock said before. */
  before: LockedSkill | null;
  change: 'new' | 'changed' | 'same';
  /** What lies there was edited since it was installed; that is lost. */
  losesEdits: boolean;
};

export type Write = { path: string; what: Place['what'] | 'lock' | 'gone' | 'config' | 'backup'; name: string };

/** Everything that would be written, before anything is. */
export type Plan = {
  scope: Scope;
  skills: PlannedSkill[];
  removed: LockedSkill[];
  /** Configuration files of agents that get, or lose, the entry of Skillbox. */
  configs: ConfigChange[];
  writes: Write[];
  lock: Lock;
  /** The lock as it was when this was planned. */
  lockBefore: string;
};

export async function planInstall(scope: Scope, wanted: readonly Wanted[]): Promise<Plan> {
  checkStore(scope);
  await repair(scope);
  const old = readLock(scope.lockPath);
  const lock = new Map(old);
  const skills: PlannedSkill[] = [];
  const writes: Write[] = [];
  for (const one of wanted) {
    const skill = await planOne(scope, one, old);
    const { name } = skill.locked;
    if (skills.some(({ locked }) => locked.name === name)) {
      throw new SkillboxError('INSTALL_REFUSED', `two of the chosen skills are called ${name}`, {
        hint: 'Name the one that you mean: SOURCE#REF:FOLDER, or SERVER#skill://…/SKILL.md.',
      });
    }
    skills.push(skill);
    lock.set(name, skill.locked);
    writes.push(...(await writesFor(scope, skill, one.adopt === true)));
  }
  return finishPlan(scope, old, lock, skills, [], writes);
}

function finishPlan(
  scope: Scope,
  old: Lock,
  lock: Lock,
  skills: PlannedSkill[],
  removed: LockedSkill[],
  writes: Write[],
): Plan {
  const lockBefore = renderLock(old);
  if (renderLock(lock) !== lockBefore) writes.push({ path: scope.lockPath, what: 'lock', name: '' });
  return { scope, skills, removed, configs: [], writes, lock, lockBefore };
}

async function planOne(scope: Scope, { loaded, agents, method, nested }: Wanted, old: Lock): Promise<PlannedSkill> {
  const judged = judgeSkill(loaded, nested);
  const { content, source, folder } = loaded;
  const { name } = judged.skill;
  // A registry knows the version also of skills that carry none.
  const version = source.kind === 'registry' ? source.version : judged.skill.version;
  const sums = await digestFiles(content);
  const digest = await digestFolder(content);
  const before = old.get(name) ?? null;
  checkSameSource(before, loaded);
  const files = new Map(
    content.files.map(({ path, executable }) => [path, { sha256: sums.get(path) ?? '', executable }]),
  );
  const locked = { name, version, source, folder, digest, files, agents: [...agents], method };
  const disk = await lookAt(storedAt(scope, name));
  checkFree(storedAt(scope, name), disk, before !== null || isSameFolder(disk, digest));
  return {
    ...judged,
    locked,
    content,
    before,
    change: before === null ? 'new' : before.digest === digest ? 'same' : 'changed',
    losesEdits:
      before !== null && disk.kind !== 'none' && !isSameFolder(disk, before.digest) && !isSameFolder(disk, digest),
  };
}

/** Threat: a second source that has a skill of the same name would take the place of the one that the user chose. */
function checkSameSource(before: LockedSkill | null, { source }: Loaded): void {
  if (before === null || originOf(before.source) === originOf(source)) return;
  throw new SkillboxError('EXISTS', `${before.name} is already installed from ${originOf(before.source)}`, {
    hint: `Nothing was written. To take it from elsewhere: skillbox remove ${before.name}`,
  });
}

/** Of a skill from an MCP server the server and its address there: either alone names another skill elsewhere. */
function originOf(source: LockedSource): string {
  if (source.kind === 'mcp') return `${source.server}#${source.uri}`;
  if (source.kind === 'registry') return `the registry ${source.server ?? 'of this machine'}`;
  return source.kind === 'path' ? source.path : source.url;
}

function isSameFolder(disk: OnDisk, digest: string): boolean {
  return disk.kind === 'folder' && disk.digest === digest;
}

async function writesFor(scope: Scope, skill: PlannedSkill, adopt: boolean): Promise<Write[]> {
  const { locked, before } = skill;
  const { name, digest } = locked;
  const ours = new Map(before === null ? [] : placesOf(scope, before).map(place => [place.path, place]));
  const writes: Write[] = [];
  const places = placesOf(scope, locked);
  for (const place of places) {
    const disk = await lookAt(place.path);
    if (isInPlace(scope, place, name, digest, disk)) continue;
    const isLinkToUs = disk.kind === 'link' && disk.target === linkTarget(scope, place.path, name);
    checkFree(
      place.path,
      disk,
      adopt ||
        place.what === 'store' ||
        isOurs(scope, ours.get(place.path), name, disk) ||
        isLinkToUs ||
        isSameFolder(disk, digest),
    );
    if (disk.kind === 'folder' && !isSameFolder(disk, digest) && !isSameFolder(disk, before?.digest ?? digest))
      skill.losesEdits = true;
    writes.push({ path: place.path, what: place.what, name });
  }
  const kept = new Set(places.map(({ path }) => path));
  for (const [path, place] of ours) {
    if (kept.has(path) || !isOurs(scope, place, name, await lookAt(path))) continue;
    writes.push({ path, what: 'gone', name });
  }
  return writes;
}

/**
 * What lies in a place of the lock, as far as Skillbox put it there. The lock alone does not say so: it comes with the project,
 * and somebody who never installed it may have a folder of that name.
 */
function isOurs(scope: Scope, place: Place | undefined, name: string, disk: OnDisk): boolean {
  if (place === undefined || disk.kind === 'none') return false;
  if (place.what === 'link') return disk.kind === 'link';
  return place.what === 'store' || existsSync(storedAt(scope, name));
}

/** Merge, never overwrite: what somebody else put there stays. */
function checkFree(path: string, disk: OnDisk, ours: boolean): void {
  if (disk.kind === 'none' || ours) return;
  throw new SkillboxError('EXISTS', `${path} is already there, and not from Skillbox`, {
    hint: 'Nothing was written. Move it away, or leave this skill out.',
  });
}

/** Takes skills away: what lies in their places, as long as it is what Skillbox put there. */
export async function planRemove(scope: Scope, names: readonly string[]): Promise<Plan> {
  checkStore(scope);
  await repair(scope);
  const old = readLock(scope.lockPath);
  const lock = new Map(old);
  const removed: LockedSkill[] = [];
  const writes: Write[] = [];
  for (const name of new Set(names)) {
    const locked = old.get(name);
    if (locked === undefined) {
      throw new SkillboxError('NOT_FOUND', `${name} is not in ${scope.lockPath}`, {
        hint: 'skillbox list shows what is installed.',
      });
    }
    removed.push(locked);
    lock.delete(name);
    for (const place of placesOf(scope, locked)) {
      const disk = await lookAt(place.path);
      if (disk.kind === 'none') continue;
      // A link that somebody turned elsewhere, or a file in the place of a link, is not ours to remove.
      const asInstalled = isInPlace(scope, place, name, locked.digest, disk);
      if (!asInstalled && (place.what === 'link' || !isOurs(scope, place, name, disk))) continue;
      writes.push({ path: place.path, what: 'gone', name });
    }
  }
  return finishPlan(scope, old, lock, [], removed, writes);
}

/** The same plan with changes of configuration, each with a copy of the file as it was beside it. */
export function withConfigs(plan: Plan, configs: readonly ConfigChange[]): Plan {
  const changed = configs.filter(({ before, after }) => before !== after);
  const writes = changed.flatMap(({ path, before, after, agent }): Write[] => {
    if (after === null) return [{ path, what: 'gone', name: agent }];
    const backup: Write[] = before === null ? [] : [{ path: backupOf(path), what: 'backup', name: agent }];
    return [...backup, { path, what: 'config', name: agent }];
  });
  return { ...plan, configs: [...configs], writes: [...plan.writes, ...writes] };
}
