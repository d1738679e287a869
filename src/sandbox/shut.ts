import { accessSync, chmodSync, closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import { errnoOf } from '../base/index.ts';
import { O_PATH } from './hold.ts';

type Who = { uid: number; gid: number };

/** As whom a run reads a workspace when Skillbox is root: as its owner. null: as ourselves, and the kernel can be asked. */
export function readerOf(workspace: string): Who | null {
  return process.geteuid?.() === 0 ? lstatSync(workspace) : null;
}

/**
 * A folder that may not be listed, or not entered. Threat: a run that has its owner's uid can open it for itself, and close behind
 * itself what it planted there; an editor, direnv and git obey what lies in a folder that they cannot list.
 * Synchronous: asked of every folder, and a trip to the thread pool takes longer than the call.
 */
export function isShut(path: string, who: Who | null): boolean {
  try {
    if (who !== null) {
      const info = lstatSync(path);
      return info.isDirectory() && lets(info, who) !== READ_AND_ENTER;
    }
    accessSync(path, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') return false;
    return isFolder(path);
  }
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false; // in a folder that is shut itself
  }
}

const READ_AND_ENTER = 0o5;

function lets({ mode, ...owner }: Who & { mode: number }, { uid, gid }: Who): number {
  return (mode >> (uid === owner.uid ? 6 : gid === owner.gid ? 3 : 0)) & READ_AND_ENTER;
}

/** Answers whether we can look into it now. */
export function openShut(path: string): boolean {
  return !isShut(path, null) || openUp(path);
}

/** A run that makes a folder read-only behind itself would keep us from moving things out of it. */
export function openToChange(path: string): void {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    // What that changes nothing about, whoever moves is told.
    if (errnoOf(error) === 'EACCES' && isFolder(path)) openUp(path);
  }
}

/** By a descriptor: a run that goes on could put a link in its place meanwhile. */
function openUp(path: string): boolean {
  try {
    if (process.platform !== 'linux') {
      chmodSync(path, opened(lstatSync(path)));
      return true;
    }
    const fd = openSync(path, O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY);
    try {
      chmodSync(`/proc/self/fd/${fd}`, opened(fstatSync(fd)));
      return true;
    } finally {
      closeSync(fd);
    }
  } catch {
    return false; // somebody else's: the caller says what that means
  }
}

function opened({ mode }: { mode: number }): number {
  return (mode & 0o7777) | 0o700;
}
