import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** One entry of a read-only bind, to be copied into a slot. `path` is relative; '' is the source itself. */
export type Entry = { path: string; kind: 'directory' | 'file' | 'link'; mode: number };

/** What goes into a slot when the run is known. `at` is relative to the slot. */
export type Fill =
  | { kind: 'text'; at: string; text: string }
  /** The run's own way out, which the bridge looks for at `at`. */
  | { kind: 'socket'; at: string; source: string }
  | { kind: 'tree'; at: string; source: string; entries: readonly Entry[] };

export type Place = { path: string; kind: 'directory' | 'file' };

/** More than this is mounted with the spare, as part of its key: a layer, a large skill. */
const MAX_ENTRIES = 48;
const MAX_BYTES = 1024 * 1024;

/**
 * Everything below a source, or null when it is not for copying: too much, of several owners (the cold path maps one), a
 * special file, or not ours to read.
 */
export function surveySource(source: string): Entry[] | null {
  const root = lstatSync(source);
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0 && root.uid !== uid) return null;
  const entries: Entry[] = [];
  let bytes = 0;
  const queue = [''];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const from = join(source, path);
    const info = path === '' ? root : lstatSync(from);
    bytes += info.isFile() ? info.size : 0;
    if (entries.length === MAX_ENTRIES || bytes > MAX_BYTES) return null;
    if (info.uid !== root.uid || info.gid !== root.gid) return null;
    const mode = info.mode & 0o7777;
    if (info.isSymbolicLink()) entries.push({ path, kind: 'link', mode });
    else if ((mode & 0o400) === 0 || (mode & 0o7000) !== 0) return null;
    else if (info.isFile()) entries.push({ path, kind: 'file', mode });
    else if (info.isDirectory()) {
      entries.push({ path, kind: 'directory', mode });
      queue.push(...readdirSync(from).map(name => join(path, name)));
    } else return null;
  }
  return entries;
}

/**
 * Writes what a run brings into a slot, from the host's side; inside it is a read-only mount. Files are copied, never
 * hard-linked: cleaning up must not be able to change the snapshot. Synchronous: a few system calls, where every trip to the thread
 * pool costs more. `owner`: whose it is to be; null leaves it ours, and the mount shows it as the run's.
 */
export function fillSlot(slot: string, fills: readonly Fill[], owner: number | null): void {
  for (const fill of fills) {
    const to = join(slot, fill.at);
    if (fill.at !== '') makeAbove(slot, dirname(fill.at), owner);
    if (fill.kind === 'text') {
      writeFileSync(to, fill.text, { mode: 0o400, flag: 'wx' });
      giveTo(to, owner);
    }
    // The one thing that cannot be copied: whoever listens is found by the inode.
    else if (fill.kind === 'socket') linkSync(fill.source, to);
    else for (const entry of fill.entries) copyEntry(join(fill.source, entry.path), join(to, entry.path), entry, owner);
  }
}

function copyEntry(from: string, to: string, { kind, mode }: Entry, owner: number | null): void {
  if (kind === 'link') {
    symlinkSync(readlinkSync(from), to);
    if (owner !== null) lchownSync(to, owner, owner);
    return;
  }
  if (kind === 'file') copyFileSync(from, to);
  else makeDirectory(to);
  // Ours to write to, whatever the source says: it must be filled now and removed later.
  chmodSync(to, kind === 'directory' ? mode | 0o700 : mode);
  giveTo(to, owner);
}

/** Nothing but us has been near it: what is given away is what was made. */
function giveTo(path: string, owner: number | null): void {
  if (owner !== null) chownSync(path, owner, owner);
}

/**
 * Whether `fillSlot` can give the socket to a slot below `directory`: on the same file system, and of the same owner, whom
 * the mount of the slot shows as the run.
 */
export function isLinkable(socket: string, directory: string): boolean {
  const [found, place] = [lstatSync(socket), lstatSync(directory)];
  return found.isSocket() && found.dev === place.dev && found.uid === place.uid && found.gid === place.gid;
}

/** A slot, with the places on which other mounts will stand. */
export function makeSlot(slot: string, places: readonly Place[]): void {
  makeDirectory(slot);
  for (const { path, kind } of places) {
    makeAbove(slot, kind === 'file' ? dirname(path) : path, null);
    if (kind === 'file') writeFileSync(join(slot, path), '', { mode: 0o444 });
  }
}

function makeAbove(slot: string, path: string, owner: number | null): void {
  if (path === '.') return;
  makeAbove(slot, dirname(path), owner);
  makeDirectory(join(slot, path));
  giveTo(join(slot, path), owner);
}

/** As bwrap makes the directories above a mount, under the launcher's umask. */
function makeDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
