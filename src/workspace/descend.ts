import { lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { errnoOf, type Held, hold, placeIn, release, SkillboxError, visibleLine } from '../base/index.ts';

/** Where a path leads: a name in a held directory, and the same as a path below the root with every link resolved. */
export type Reached = { parent: Held; name: string; parts: readonly string[] };

/** Throws when the folder at these resolved parts must not be made. */
export type BeforeFolder = (parts: readonly string[]) => void;

const MAX_LINKS = 40;
const MAX_PARTS = 256;

/**
 * WS-07: goes from the root one name at a time, each from the held directory before it, and follows links itself. So a link
 * that is swapped in meanwhile is either resolved like any other or refused; the kernel never follows one for us.
 * Null when a folder on the way is absent, unless `beforeFolder` allows it to be made. The caller releases `parent`.
 */
export function descend(root: string, parts: readonly string[], beforeFolder: BeforeFolder | null): Reached | null {
  const held: Held[] = [holdRoot(root)];
  const names: string[] = [];
  const top = (): Held => held.at(-1) as Held; // the root is never taken off
  const pending = parts.filter(isStep);
  const shown = visibleLine(parts.join('/'));
  let links = 0;
  try {
    for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
      if (held.length > MAX_PARTS) throw outside(shown, 'is too deep');
      if (part === '..') {
        if (names.pop() === undefined) throw outside(shown, 'leaves the folder');
        release(held.pop() as Held);
        continue;
      }
      const link = linkAt(top(), part);
      if (link !== null) {
        if (++links > MAX_LINKS) throw outside(shown, 'goes through too many links');
        if (isAbsolute(link)) {
          for (const one of held.splice(1)) release(one);
          names.length = 0;
        }
        pending.unshift(...stepsOf(root, link, shown));
        continue;
      }
      if (pending.length === 0) {
        const parent = held.pop() as Held;
        return { parent, name: part, parts: [...names, part] };
      }
      if (beforeFolder !== null && pending.includes('..') && isAbsent(top(), part)) {
        // Below what is not there no link can be, so it is settled by the names, and no folder is made on the way to elsewhere.
        pending.unshift(part);
        pending.splice(0, pending.length, ...folded(pending));
        continue;
      }
      const next = enter(top(), part, beforeFolder === null ? null : () => beforeFolder([...names, part]), shown);
      if (next === null) return null;
      held.push(next);
      names.push(part);
    }
    throw new SkillboxError('PATH_OUTSIDE', `${shown || '.'} is a folder, not a file`);
  } finally {
    for (const one of held) release(one);
  }
}

function holdRoot(root: string): Held {
  try {
    return hold(root);
  } catch (cause) {
    throw new SkillboxError('NOT_FOUND', `the workspace ${visibleLine(root)} is gone`, { cause });
  }
}

/** A path as it was given, cut at its separators; an absolute one must begin with the root. */
export function stepsOf(root: string, path: string, shown: string): string[] {
  if (!isAbsolute(path)) return split(path);
  const below = relative(root, path);
  if (isAbsolute(below) || below === '..' || below.startsWith(`..${sep}`)) throw outside(shown, 'leaves the folder');
  return split(below);
}

function split(path: string): string[] {
  return path.split(sep === '\\' ? /[\\/]/ : '/').filter(isStep);
}

function isStep(part: string): boolean {
  return part !== '' && part !== '.';
}

function isAbsent(at: Held, name: string): boolean {
  return lstatSync(placeIn(at, name), { throwIfNoEntry: false }) === undefined;
}

/** Without the names that a later `..` leaves again. */
function folded(parts: readonly string[]): string[] {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else kept.push(part);
  }
  return kept;
}

function linkAt(at: Held, name: string): string | null {
  try {
    return readlinkSync(placeIn(at, name));
  } catch (error) {
    const errno = errnoOf(error);
    // EINVAL: it is something else than a link.
    if (errno === 'EINVAL' || errno === 'ENOENT' || errno === 'UNKNOWN') return null;
    throw unreachable(name, error);
  }
}

function enter(at: Held, name: string, beforeMaking: (() => void) | null, shown: string): Held | null {
  try {
    return hold(placeIn(at, name));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      if (beforeMaking === null) return null;
      beforeMaking();
      return make(at, name, shown);
    }
    // It was no link a moment ago.
    if (errnoOf(error) === 'ELOOP') throw new SkillboxError('FILE_CHANGED', `${shown} changed while it was looked for`);
    throw unreachable(shown, error);
  }
}

function make(at: Held, name: string, shown: string): Held {
  try {
    mkdirSync(placeIn(at, name));
    return hold(placeIn(at, name));
  } catch (cause) {
    if (errnoOf(cause) === 'EACCES' || errnoOf(cause) === 'EROFS' || errnoOf(cause) === 'ENOSPC') {
      throw new SkillboxError('UNWRITABLE', `cannot make the folder for ${shown} (${errnoOf(cause)})`, { cause });
    }
    throw new SkillboxError('FILE_CHANGED', `${shown} changed while its folder was made`, { cause });
  }
}

function unreachable(shown: string, cause: unknown): SkillboxError {
  const errno = errnoOf(cause);
  if (errno === 'ENOTDIR') return new SkillboxError('NOT_FOUND', `${shown} leads through a file`, { cause });
  if (errno === 'ENAMETOOLONG')
    return new SkillboxError('NOT_FOUND', `${shown} has a name that is too long`, { cause });
  return new SkillboxError('UNREADABLE', `${shown} cannot be reached (${errno ?? String(cause)})`, { cause });
}

function outside(shown: string, why: string): SkillboxError {
  return new SkillboxError('PATH_OUTSIDE', `${shown} ${why}`);
}
