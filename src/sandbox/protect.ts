import { renameSync } from 'node:fs';
import { lstat, mkdir, readdir, readlink, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import {
  enclosingGits,
  errnoOf,
  GIT_GUARDED,
  GUARDED,
  hold,
  obeyedElsewhere,
  placeIn,
  release,
  SkillboxError,
} from '../base/index.ts';
import { lookThrough, MAX_DEPTH, MAX_ENTRIES, ROOT } from './look-through.ts';
import { isPlainRebase, isPlainRepository, REBASE } from './new-repository.ts';
import { atLeast, type Guarantee, type Level, type Planted, type Protection, type Requires } from './sandbox.ts';
import { isShut, openShut, openToChange, readerOf } from './shut.ts';

/** Paths are relative to the mount. */
export type ProtectionPlan = {
  /** Directories that must not be renamed, because guarded things lie in them. */
  hold: string[];
  readOnly: string[];
  hidden: string[];
  /** Guarded, but not there (or a link, which no mount can hold): looked at during and after the run. */
  absent: string[];
  /** Guarded names and git directories below the root, as they were: what is there besides after the run is new. */
  known: string[];
  /** Folders that the run may not list: they are hidden, so that it cannot open them either. */
  shut: string[];
  /** Where a rebase under way would be in a git directory, and was not. */
  rebases: string[];
  /** False when the tree was too large to look for secrets everywhere. */
  complete: boolean;
};

/** Threat: in a tree too large to look through there may be a secret that is not hidden. Whoever does not ask for that is told by the level. */
export function admitUnsearched(
  protections: ReadonlyMap<string, ProtectionPlan>,
  held: Map<Guarantee, Level>,
  requires: Requires,
): void {
  if ([...protections.values()].every(plan => plan.complete)) return;
  held.set('workspace', 'none');
  if (atLeast('none', requires.get('workspace') ?? 'none')) return;
  throw new SkillboxError(
    'SANDBOX_CANNOT_ENFORCE',
    `The workspace cannot be guarded: it has more than ${MAX_ENTRIES} entries, is nested deeper than ${MAX_DEPTH}, or may not be listed; or git obeys more of it than can be looked for.`,
    {
      hint: 'Name a smaller folder with --workspace (or --path). To go on with secrets in it unhidden, say `lower: {workspace: none}` in your own policy.',
    },
  );
}

/** What to do for one workspace as it stands now. Links are never followed out of it. */
export async function planProtection(root: string, protection: Protection): Promise<ProtectionPlan> {
  const { secrets, git: gits, guarded, sockets, shut, complete } = await lookThrough(root, null);
  const reader = readerOf(root);
  const plan: ProtectionPlan = {
    hold: [],
    readOnly: [],
    hidden: [...shut],
    absent: [],
    known: [...gits, ...guarded],
    shut,
    rebases: [],
    complete,
  };
  // Threat: who gives a plain folder may not know what lies in it. What is secret or obeyed there has to be named itself, or by
  // what is as a whole.
  const special = new Set([...GUARDED, '.git', ...secrets, ...gits, ...guarded]);
  const isWhole = (name: string) => [...parents(name), name].some(above => special.has(above));
  const covers = (names: readonly string[], path: string) =>
    names.some(name => path === name || (isWhole(name) && path.startsWith(`${name}/`)));
  const unlocked = (path: string) => covers(protection.unlock, path);
  const guard = async (path: string) => {
    if (unlocked(path)) return;
    const kind = await kindOf(join(root, path));
    if (kind === 'plain') plan.readOnly.push(path);
    else plan.absent.push(path);
    if (kind !== 'link') return;
    // No mount can stand on a link, but on what it names: that is what would be obeyed, now or once it is there.
    const target = await targetOf(root, path);
    if (target === null || plan.absent.includes(target) || plan.readOnly.includes(target)) return;
    for (const above of parents(target)) if ((await kindOf(join(root, above))) === 'plain') holdAll(plan, [above]);
    await guard(target);
  };
  for (const name of GUARDED) await guard(name);
  for (const path of guarded) {
    if (secrets.includes(path)) continue; // hidden, or shown below, and so not to be written either
    holdAll(plan, parents(path));
    await guard(path);
  }
  const guardElsewhere = async (git: string) => {
    const elsewhere = obeyedElsewhere(root, git);
    plan.complete &&= elsewhere !== null;
    for (const path of elsewhere ?? []) {
      if ([...parents(path), path].some(above => plan.readOnly.includes(above) || secrets.includes(above))) continue;
      holdAll(plan, parents(path));
      await guard(path);
    }
  };
  for (const git of ['.git', ...gits]) {
    if (unlocked(git)) continue;
    const kind = await kindOf(join(root, git));
    if (kind !== 'plain') plan.absent.push(git);
    else if (isShut(join(root, git), reader)) plan.hidden.push(git);
    else if ((await lstat(join(root, git))).isDirectory()) {
      // Whoever can rename a parent can put another one in its place.
      if (git !== ROOT) holdAll(plan, [...parents(git), git]);
      for (const name of GIT_GUARDED) await guard(join(git, name));
      // One that comes to be is looked into after the run: to rebase is ordinary work.
      const rebase = join(git, REBASE);
      if ((await kindOf(join(root, rebase))) === 'absent') plan.rebases.push(rebase);
      else await guard(rebase);
    } else plan.readOnly.push(git); // a worktree's or submodule's pointer file
    await guardElsewhere(git);
  }
  for (const above of enclosingGits(root)) await guardElsewhere(relative(root, above));
  const hide = async (path: string): Promise<void> => {
    if (!protection.reveal.some(given => given.startsWith(`${path}/`))) {
      plan.hidden.push(path);
      return;
    }
    // A folder of secrets of which one was given: the others stay hidden.
    plan.readOnly.push(path);
    for (const name of await readdir(join(root, path))) {
      const inner = join(path, name);
      await (covers(protection.reveal, inner) ? shutSockets(inner) : hide(inner));
    }
  };
  // Behind a socket is a process of the host: no path that is given opens a way out.
  const shutSockets = async (path: string) => {
    if (!(await lstat(join(root, path))).isDirectory()) return;
    const inside = await lookThrough(join(root, path), null);
    plan.complete &&= inside.complete;
    plan.hidden.push(...[...inside.sockets, ...inside.shut].map(name => join(path, name)));
  };
  plan.hidden.push(...sockets);
  for (const path of secrets) {
    if (!covers(protection.reveal, path)) {
      await hide(path);
      continue;
    }
    await shutSockets(path);
    if (unlocked(path)) continue;
    // Given to be read.
    holdAll(plan, parents(path));
    await guard(path);
  }
  // Threat: a mount of its own inside of what is read-only would be open to be written; what is unlocked there is to be that.
  const whole = new Set(plan.readOnly);
  const opened = new Set<string>();
  const isBeneath = (path: string) => {
    const nearest = parents(path).findLast(above => whole.has(above) || opened.has(above));
    return nearest !== undefined && !opened.has(nearest);
  };
  for (const path of protection.unlock) if (isBeneath(path)) opened.add(path);
  // An engine mounts nothing twice.
  const held = plan.hold.filter(path => !whole.has(path) && !isBeneath(path));
  plan.hold = [...new Set([...held, ...opened])];
  plan.readOnly = [...whole].filter(path => !isBeneath(path));
  return plan;
}

/** Where a link leads, or would once that is made; null: out of the workspace. */
async function targetOf(root: string, path: string): Promise<string | null> {
  const link = join(root, path);
  const target = await realpath(link).catch(async () => resolve(dirname(link), await readlink(link)));
  const inside = relative(root, target);
  return inside === '' || inside === '..' || inside.startsWith('../') ? null : inside;
}

function holdAll(plan: ProtectionPlan, paths: readonly string[]): void {
  for (const path of paths) if (!plan.hold.includes(path)) plan.hold.push(path);
}

/** `a/b/c` → `a`, `a/b`. */
function parents(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Where a running skill cannot swap the parent for a link: at the root, and in a git directory that is held. */
export function isSteady(path: string): boolean {
  return !path.includes('/') || /^\.git\/[^/]+$/.test(path);
}

async function kindOf(path: string): Promise<'plain' | 'link' | 'absent'> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'link' : 'plain';
  } catch (error) {
    if (isOutOfReach(error)) return 'absent';
    throw error;
  }
}

/** Not there, or in a folder that is shut: nobody obeys it as long as it is. */
function isOutOfReach(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '');
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

/** Moves what was planted out of the workspace. Null when it would not go: the result then says so. */
export async function quarantine(root: string, planted: readonly string[], to: string): Promise<Planted[]> {
  const moved: Planted[] = [];
  // Deepest last: when a directory went, what lay in it went too.
  for (const [index, path] of [...planted].sort().entries()) {
    if (moved.some(other => other.movedTo !== null && path.startsWith(`${other.path}/`))) continue;
    const target = join(to, `${index}-${basename(path)}`);
    try {
      // A link in the way would make us move something of somebody else's.
      if ((await realpath(dirname(join(root, path)))) !== dirname(join(root, path))) {
        moved.push({ path, movedTo: null });
        continue;
      }
      for (const changed of [dirname(join(root, path)), join(root, path)]) openToChange(changed);
      await mkdir(to, { recursive: true, mode: 0o700 });
      await rename(join(root, path), target);
      behead(target);
      moved.push({ path, movedTo: target });
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') continue;
      moved.push(await disarm(root, path));
    }
  }
  return moved;
}

/** Threat: git takes a folder with a HEAD for a repository whatever its name, also for whoever goes there to look at it. */
function behead(path: string): void {
  openShut(path);
  try {
    const folder = hold(path);
    try {
      renameSync(placeIn(folder, 'HEAD'), placeIn(folder, 'HEAD.planted'));
    } finally {
      release(folder);
    }
  } catch {
    // A file or a link, or a folder without one.
  }
}

/** Another file system, or not ours to move: renamed in place, to a name that nothing obeys. */
async function disarm(root: string, path: string): Promise<Planted> {
  const target = join(root, `${path}.planted-${Date.now().toString(36)}`);
  try {
    await rename(join(root, path), target);
    behead(target);
    return { path, movedTo: target };
  } catch {
    return { path, movedTo: null }; // the outcome names it with null, and the run is not a success
  }
}
