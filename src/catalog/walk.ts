import { realpathSync, type Stats } from 'node:fs';
import { errnoOf } from '../base/index.ts';
import { Found } from './found.ts';
import { isMarker, listFolder, RESOURCE_FOLDERS } from './list-folder.ts';
import type { Ahead, AheadReader, Look, LookAhead, PlainSkill } from './look-ahead.ts';
import { isOurs, isOursAt, lstatOf, statOf } from './ours.ts';
import type { CatalogPlace } from './places.ts';
import { readEntry, scriptsState } from './read-entry.ts';
import {
  type FolderRecord,
  isAllSettled,
  isSame,
  isSettled,
  NONE,
  type Records,
  type SkillReading,
  type SkillRecord,
  type State,
} from './records.ts';

export type WalkLimits = { maxDepth: number; maxFolders: number; maxSkills: number; maxMs: number };
export const WALK_LIMITS: WalkLimits = { maxDepth: 8, maxFolders: 100_000, maxSkills: 50_000, maxMs: 20_000 };

/** Inside a skill only other skills are looked for, and not without end: its files are its own affair. */
const MAX_INNER_DEPTH = 3;
const MAX_INNER_FOLDERS = 200;

/** What the search could not do, or did not do twice. */
export type WalkProblem = { kind: 'limit' | 'unreadable' | 'seen'; path: string; message: string };

export type Walked = {
  found: Found;
  records: Records;
  problems: WalkProblem[];
};

/** Directories that were entered, by device and inode: a second way to one of them is not taken. */
export class Seen {
  readonly #devices = new Map<number, Map<number, string>>();

  /** The path under which it was entered before, or null when this is the first time. */
  claim({ dev, ino }: { dev: number; ino: number }, path: string): string | null {
    let inodes = this.#devices.get(dev);
    if (inodes === undefined) {
      inodes = new Map();
      this.#devices.set(dev, inodes);
    }
    const before = inodes.get(ino);
    if (before === undefined) inodes.set(ino, path);
    return before ?? null;
  }
}

export type WalkContext = {
  place: CatalogPlace;
  known: Records;
  seen: Seen;
  limits: WalkLimits;
  /** When the scan started: what changed since then is not settled. */
  start: number;
  now: () => number;
  /** Where every directory that was entered is noted, with its inode; null when nobody wants to know. */
  folders: Map<string, number> | null;
  /** How to look at many folders at once; null: one by one. */
  lookAhead: LookAhead | null;
};

/** A folder that is a skill, and what is known of it. */
type Visited = { path: string; realPath: string; record: FolderRecord; stats: Look; ahead: Ahead | null };

/** Finds the skills below a directory: first in its own folders, then behind the links in them, each link once. */
export class Walk {
  readonly #context: WalkContext;
  readonly #walked: Walked;
  readonly #links: { path: string; depth: number }[] = [];
  #foldersLeft: number;
  #stopped = false;

  constructor(context: WalkContext) {
    this.#context = context;
    this.#walked = { found: new Found(context.place), records: new Map(), problems: [] };
    this.#foldersLeft = context.limits.maxFolders;
  }

  run(): Walked {
    const { path: root } = this.#context.place;
    const real = realPathOf(root);
    if (real === null) return this.#walked;
    this.#visit(root, real, 0, false);
    // After the real folders: a link beside its target is the second way there, whatever their names are.
    for (const { path, depth } of this.#links) {
      const target = realPathOf(path);
      if (target !== null) this.#visit(path, target, depth, true);
    }
    this.#walked.found.sort();
    return this.#walked;
  }

  #visit(path: string, realPath: string, depth: number, linked: boolean, ahead: Ahead | null = null): void {
    if (this.#isSpent(path)) return;
    const stats = ahead?.stats ?? directoryAt(path);
    if (stats === null || !this.#isNew(path, stats)) return;
    const record = this.#recordOf(path, stats, ahead);
    if (record === null) return;
    if (record.files.some(isMarker)) this.#visitSkill({ path, realPath, record, stats, ahead });
    else this.#visitAll(path, realPath, record, depth, linked);
  }

  /** All that `#visit` would come to, where everything is known and nothing need be remembered. */
  #visitPlain(path: string, realPath: string, plain: PlainSkill): void {
    if (this.#isSpent(path) || !this.#isNew(path, plain) || !this.#hasRoom(path)) return;
    this.#context.folders?.set(path, plain.ino);
    this.#walked.found.addSkill(path, realPath, NONE, plain.ours, plain.files, plain.summary);
  }

  #isNew(path: string, folder: { dev: number; ino: number }): boolean {
    const before = this.#context.seen.claim(folder, path);
    if (before !== null && before !== path) this.#report('seen', path, `is ${before}, which was searched already`);
    return before === null;
  }

  #hasRoom(path: string): boolean {
    const { maxSkills } = this.#context.limits;
    if (this.#walked.found.count < maxSkills) return true;
    this.#stop(path, `there are more than ${maxSkills} skills`);
    return false;
  }

  #visitAll(path: string, realPath: string, record: FolderRecord, depth: number, linked: boolean): void {
    this.#keep(path, record);
    if (depth >= this.#context.limits.maxDepth) {
      if (record.folders.length > 0)
        this.#report('limit', path, `lies ${depth} levels deep; nothing below is searched`);
      return;
    }
    const reader = this.#lookAhead(path, record.folders);
    try {
      for (const name of record.folders) {
        const inner = `${path}/${name}`;
        // One string where both are the same: there may be tens of thousands of them.
        const real = realPath === path ? inner : `${realPath}/${name}`;
        const ahead = reader?.next(name) ?? null;
        if (ahead?.kind === 'plain') this.#visitPlain(inner, real, ahead);
        else this.#visit(inner, real, depth + 1, linked, ahead);
        if (this.#stopped) return;
      }
    } finally {
      reader?.close();
    }
    // What was reached by a link is not left by another one.
    if (!linked) for (const name of record.links) this.#links.push({ path: `${path}/${name}`, depth: depth + 1 });
  }

  /** Only where most of it is new: what was known before is looked at one by one, and not even listed. */
  #lookAhead(path: string, names: readonly string[]): AheadReader | null {
    const { lookAhead, known } = this.#context;
    if (lookAhead === null || names.length > this.#foldersLeft || known.size > names.length / 2) return null;
    return lookAhead.open(path, names.length, this.#msLeft());
  }

  #msLeft(): number {
    const { limits, start, now } = this.#context;
    return limits.maxMs - (now() - start);
  }

  #visitSkill({ path, realPath, record, stats, ahead }: Visited): void {
    if (!this.#hasRoom(path)) return;
    const nested = this.#findNested(path, record);
    const { read, ours } = this.#read(path, record, ahead);
    const { files } = record;
    this.#walked.found.add({ folder: path, realFolder: realPath, files, read, nested, ours: ours && isOurs(stats) });
  }

  /** From the last scan where nothing has changed; `ours`: also of its files, for a description that everybody can write is nobody's. */
  #read(path: string, record: FolderRecord, ahead: Ahead | null): { read: SkillReading; ours: boolean } {
    const markers = record.files.length === 1 ? record.files : record.files.filter(isMarker);
    if (record.skill !== null) {
      const marks = markers.map(name => lstatOf(`${path}/${name}`));
      if (holds(path, marks, record.skill)) {
        this.#keep(path, record);
        return { read: record.skill, ours: marks.every((mark, at) => isOursAt(`${path}/${markers[at]}`, mark)) };
      }
    }
    const names = record.folders.length === 0 ? record.files : [...record.files, ...record.folders];
    const entry = readEntry(path, { markers, names, linked: record.links.length > 0 }, ahead?.skill ?? null);
    // Without the skill the record would only save a listing.
    if (entry.skill !== null && isAllSettled(entry.skill, this.#context.start)) {
      this.#keep(path, { ...record, skill: entry.skill });
    }
    return { read: entry.skill ?? entry.read, ours: entry.ours };
  }

  #findNested(path: string, record: FolderRecord): readonly string[] {
    if (record.folders.every(name => RESOURCE_FOLDERS.has(name))) return NONE;
    const inner = { nested: [] as string[], foldersLeft: MAX_INNER_FOLDERS };
    this.#lookInside(path, record, 1, inner);
    return inner.nested;
  }

  #lookInside(
    path: string,
    record: FolderRecord,
    depth: number,
    inner: { nested: string[]; foldersLeft: number },
  ): void {
    for (const name of record.folders) {
      if (RESOURCE_FOLDERS.has(name)) continue;
      if (depth > MAX_INNER_DEPTH || inner.foldersLeft-- <= 0 || this.#isSpent(path)) return;
      const below = `${path}/${name}`;
      const stats = directoryAt(below);
      const found = stats === null ? null : this.#recordOf(below, stats);
      if (found === null) continue;
      this.#keep(below, found);
      if (found.files.some(isMarker)) inner.nested.push(below);
      else this.#lookInside(below, found, depth + 1, inner);
    }
  }

  /** From the last scan when the directory is as it was, otherwise listed. */
  #recordOf(path: string, stats: State, ahead: Ahead | null = null): FolderRecord | null {
    this.#context.folders?.set(path, stats.ino);
    const known = this.#context.known.get(path);
    if (known !== undefined && isSame(known.state, stats)) return known;
    if (ahead !== null) return ahead.record;
    const listed = this.#context.lookAhead?.list(path, this.#msLeft()) ?? null;
    if (listed !== null && isSame(listed.state, stats)) return listed;
    try {
      const { record, whole } = listFolder(path, stats);
      if (whole) return record;
      this.#report('limit', path, 'holds too many names; the rest of them is not looked at');
      // Never settled: the next scan says it again.
      return { ...record, state: { ...record.state, mtimeMs: Infinity } };
    } catch (cause) {
      const code = errnoOf(cause) ?? String(cause);
      if (code !== 'ENOENT') this.#report('unreadable', path, `cannot be listed (${code})`);
      return null;
    }
  }

  #keep(path: string, record: FolderRecord): void {
    if (isSettled(record.state, this.#context.start)) this.#walked.records.set(path, record);
  }

  #isSpent(path: string): boolean {
    if (this.#stopped) return true;
    const { limits, now, start } = this.#context;
    if (this.#foldersLeft-- <= 0) this.#stop(path, `there are more than ${limits.maxFolders} folders`);
    else if ((this.#foldersLeft & 255) === 0 && now() - start > limits.maxMs) {
      this.#stop(path, `the search took longer than ${limits.maxMs} ms`);
    }
    return this.#stopped;
  }

  #stop(path: string, why: string): void {
    if (!this.#stopped) this.#report('limit', path, `was not searched: ${why}`);
    this.#stopped = true;
  }

  #report(kind: WalkProblem['kind'], path: string, message: string): void {
    this.#walked.problems.push({ kind, path, message });
  }
}

/** Whether what was read of a skill is still what one would read. */
function holds(path: string, marks: readonly (Stats | null)[], known: SkillRecord): boolean {
  if (!marks.every((mark, index) => isUnchanged(mark, known.states[index]))) return false;
  if (!known.deep) return true;
  const scripts = scriptsState(path);
  return scripts === null || known.scripts === null ? scripts === known.scripts : isSame(known.scripts, scripts);
}

function isUnchanged(mark: Stats | null, state: State | undefined): boolean {
  return mark !== null && state !== undefined && isSame(state, mark);
}

function directoryAt(path: string): Stats | null {
  const stats = statOf(path);
  return stats?.isDirectory() ? stats : null;
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null; // leads nowhere
  }
}
