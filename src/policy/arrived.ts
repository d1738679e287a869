import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isObject, type JsonValue, readGuarded } from '../base/index.ts';

/**
 * Skills that came from an MCP server (SEP-2640). Lying on this disk does not make them the user's: they are vouched for by
 * their own name only, and a model is told where they came from. The lock that they were installed by says which they are.
 */

/** What every directory is called that skills are installed into. */
const SKILLS = 'skills';
const LOCKS = ['skills.lock', '.skillbox/skills.lock'];
/** A directory of skills lies so deep in a project or a home: `.config/agents/skills`. */
const LEVELS = 3;
const MAX_BYTES = 32 * 1024 ** 2;
const UNKNOWN = 'unknown: the lock cannot be read';

type Servers = ReadonlyMap<string, string> | 'unreadable';
const known = new Map<string, { stamp: string; servers: Servers }>();

/**
 * The server that the skill in this folder came from, or the skill around it; null for one that came otherwise. By the real path.
 */
export function serverOf(folder: string): string | null {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) {
    if (basename(dirname(path)) !== SKILLS) continue;
    for (const servers of locksAround(dirname(path))) {
      // Fail closed: a lock that nobody can read may say it of any skill.
      const server = servers === 'unreadable' ? UNKNOWN : servers.get(basename(path));
      if (server !== undefined) return server;
    }
  }
  return null;
}

/** Whether anything in this directory of skills may have come from a server. */
export function holdsArrived(directory: string): boolean {
  return locksAround(directory).some(servers => servers === 'unreadable' || servers.size > 0);
}

function locksAround(directory: string): Servers[] {
  const found: Servers[] = [];
  let above = directory;
  for (let level = 0; level < LEVELS; level++) {
    above = dirname(above);
    for (const lock of LOCKS) {
      const servers = serversIn(join(above, lock));
      if (servers !== null) found.push(servers);
    }
  }
  return found;
}

function serversIn(path: string): Servers | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  const stamp = `${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
  const before = known.get(path);
  if (before?.stamp === stamp) return before.servers;
  const servers = readServers(path);
  known.set(path, { stamp, servers });
  return servers;
}

function readServers(path: string): Servers {
  const found = readGuarded(path, { maxBytes: MAX_BYTES, mine: false, links: true });
  if (found === null) return new Map();
  if ('fault' in found) return 'unreadable';
  try {
    const document = JSON.parse(found.text) as JsonValue;
    const skills = isObject(document) ? document.skills : undefined;
    if (!isObject(skills)) return 'unreadable';
    const entries = Object.entries(skills).flatMap(([name, entry]): [string, string][] => {
      const source = isObject(entry) ? entry.source : undefined;
      return isObject(source) && source.kind === 'mcp'
        ? [[name, typeof source.server === 'string' ? source.server : UNKNOWN]]
        : [];
    });
    return new Map(entries);
  } catch {
    return 'unreadable';
  }
}
