import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { isEntrypointName, quickSummary, summarise } from '../dialects/index.ts';
import { IGNORE_FILE, openDirectory } from '../skill/index.ts';
import { type SkillReading, type State, stateOf } from './records.ts';

const MAX_QUICK_BYTES = 96 * 1024;
const buffer = Buffer.allocUnsafe(MAX_QUICK_BYTES);
// A FIFO in the place of SKILL.md must not hold the scan up, nor a link lead it out.
const OPEN = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** What a folder's listing says about how its skill must be read. */
export type Listing = { markers: readonly string[]; names: readonly string[]; linked: boolean };

export type EntryReading = { read: SkillReading; states: State[]; deep: boolean; cacheable: boolean };

/** Reads the skill of a folder: the quick way where that is sure to be enough, otherwise as a run would. */
export function readEntry(path: string, listing: Listing): EntryReading {
  const { markers, names } = listing;
  if (markers.length === 1 && markers[0] === 'SKILL.md' && !names.includes(IGNORE_FILE)) {
    const quick = readQuick(path, names);
    if (quick !== null) return quick;
  }
  return readWhole(path, listing);
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
    const summary = quickSummary(buffer.subarray(0, length), () => {
      deep = true;
      return names.some(isEntrypointName) || (names.includes('scripts') && listNames(`${path}/scripts`));
    });
    return summary === null ? null : { read: { summary }, states: [stateOf(stats)], deep, cacheable: true };
  } finally {
    closeSync(fd);
  }
}

function listNames(path: string): boolean {
  try {
    return readdirSync(path).some(isEntrypointName);
  } catch {
    return true; // in doubt the whole reader decides
  }
}

/** by the one reader. A folder that cannot be opened is a fault to show, not an end of the scan. */
function readWhole(path: string, { markers, linked }: Listing): EntryReading {
  try {
    const states = markers.map(name => stateOfFile(`${path}/${name}`));
    const folder = openDirectory(path);
    try {
      const read = summarise(folder);
      const whole = states.filter(state => state !== null);
      // A link may change what it leads to without a trace in this folder.
      const cacheable = !linked && whole.length === states.length;
      return { read, states: whole, deep: true, cacheable };
    } finally {
      folder.close();
    }
  } catch (error) {
    const known = error instanceof SkillboxError ? error : null;
    const code = known?.code ?? errnoOf(error);
    if (code === null) throw error;
    const message = known?.message ?? `cannot be read (${code})`;
    return {
      read: { fault: { code, message, file: markers[0] ?? 'SKILL.md', line: 1 } },
      states: [],
      deep: true,
      cacheable: false,
    };
  }
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
