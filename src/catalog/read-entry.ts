import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { isEntrypointName, quickSummary, type Summary, type SummaryFault, summarise } from '../dialects/index.ts';
import { type Folder, IGNORE_FILE, openDirectory } from '../skill/index.ts';
import type { Ahead } from './look-ahead.ts';
import { isOurs, isOursAt, lstatOf, type Ownership } from './ours.ts';
import { type SkillReading, type SkillRecord, type State, stateOf } from './records.ts';
import { shippedSummary } from './shipped.ts';

const MAX_QUICK_BYTES = 96 * 1024;
const buffer = Buffer.allocUnsafe(MAX_QUICK_BYTES);
// A FIFO in the place of SKILL.md must not hold the scan up, nor a link lead it out.
const OPEN = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** What a folder's listing says about how its skill must be read. */
export type Listing = { markers: readonly string[]; names: readonly string[]; linked: boolean };

export type EntryReading = {
  read: SkillReading;
  /** What may be remembered of it; null when nothing may. */
  skill: SkillRecord | null;
  /** Nobody but this account can write to the markers. */
  ours: boolean;
};

/**
 * Reads the skill of a folder: the quick way where that is sure to be enough, otherwise as a run would. `ahead` is what was read
 * of its SKILL.md before.
 */
export function readEntry(path: string, listing: Listing, ahead: Ahead['skill']): EntryReading {
  const { markers, names } = listing;
  const shipped = shippedSummary(path);
  if (shipped !== null) return readAs(path, listing, () => ({ summary: shipped, hasLinks: false }));
  if (markers.length === 1 && markers[0] === 'SKILL.md' && !names.includes(IGNORE_FILE)) {
    if (ahead !== null) return { read: ahead.record, skill: ahead.record, ours: ahead.ours };
    const quick = readQuick(path, names);
    if (quick !== null) return quick;
  }
  return readAs(path, listing, () => readWhole(path));
}

function readQuick(path: string, names: readonly string[]): EntryReading | null {
  let fd: number;
  try {
    fd = openSync(`${path}/SKILL.md`, OPEN);
  } catch {
    return null; // the whole reader finds out why, and says it
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size >= MAX_QUICK_BYTES) return null;
    const length = readSync(fd, buffer, 0, MAX_QUICK_BYTES, 0);
    if (length !== stats.size) return null;
    let deep = false;
    let scripts: State | null = null;
    const summary = quickSummary(buffer.subarray(0, length), () => {
      deep = true;
      scripts = scriptsState(path);
      return hasEntrypoint(path, names, scripts !== null);
    });
    if (summary === null) return null;
    return toReading(summary, stats, deep, scripts);
  } finally {
    closeSync(fd);
  }
}

function toReading(summary: Summary, stats: State & Ownership, deep: boolean, scripts: State | null): EntryReading {
  const skill = { states: [stateOf(stats)], deep, scripts, summary };
  return { read: skill, skill, ours: isOurs(stats) };
}

/** The state of scripts/, whose files decide between dialects (SB-01); null where there is no such folder. */
export function scriptsState(path: string): State | null {
  try {
    const stats = statSync(`${path}/scripts`, { throwIfNoEntry: false });
    return stats === undefined ? null : stateOf(stats);
  } catch {
    return null; // closed to us, as it is to the reader
  }
}

/** Whether a plain file is called like an entrypoint; null where one is a link or worse, about which the reader decides. */
function hasEntrypoint(path: string, names: readonly string[], withScripts: boolean): boolean | null {
  try {
    const inScripts = withScripts ? readdirSync(`${path}/scripts`).map(name => `scripts/${name}`) : [];
    const found = [...inScripts, ...names].filter(name => isEntrypointName(name.replace('scripts/', '')));
    if (found.length === 0) return false;
    return found.every(name => lstatSync(`${path}/${name}`).isFile()) ? true : null;
  } catch {
    return null; // it changed meanwhile, or is closed to us
  }
}

type Read = { summary: Summary; hasLinks: boolean } | { fault: SummaryFault };

/** With what may be remembered of it. A folder that cannot be opened is a fault to show, not an end of the scan. */
function readAs(path: string, { markers, linked }: Listing, reading: () => Read): EntryReading {
  const ours = markers.every(name => isOursAt(`${path}/${name}`, lstatOf(`${path}/${name}`)));
  try {
    const states = markers.map(name => stateOfFile(`${path}/${name}`)).filter(state => state !== null);
    const scripts = scriptsState(path);
    const read = reading();
    if ('fault' in read) return { read, skill: null, ours };
    const { summary } = read;
    // A link may change what it leads to without a trace in this folder; a fault may lie in any file of it.
    const cacheable = !linked && !read.hasLinks && states.length === markers.length;
    return { read: { summary }, skill: cacheable ? { states, deep: true, scripts, summary } : null, ours };
  } catch (error) {
    const known = error instanceof SkillboxError ? error : null;
    const code = known?.code ?? errnoOf(error);
    if (code === null) throw error;
    const message = known?.message ?? `cannot be read (${code})`;
    const fault = { code, message, file: markers[0] ?? 'SKILL.md', line: 1 };
    return { read: { fault }, skill: null, ours };
  }
}

/** by the one reader. */
function readWhole(path: string): Read {
  const folder = openDirectory(path);
  try {
    const read = summarise(folder);
    return 'fault' in read ? read : { ...read, hasLinks: hasLinks(folder) };
  } finally {
    folder.close();
  }
}

function hasLinks({ problems }: Folder): boolean {
  return problems.some(({ code }) => code === 'folder-link-inside' || code === 'folder-link-outside');
}

function stateOfFile(path: string): State | null {
  let fd: number;
  try {
    fd = openSync(path, OPEN);
  } catch {
    return null; // unreadable or a link: read anew each time
  }
  try {
    return stateOf(fstatSync(fd));
  } finally {
    closeSync(fd);
  }
}
