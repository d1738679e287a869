import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../base/index.ts';
import type { Limits } from './sandbox.ts';

export type Controller = 'memory' | 'pids' | 'cpu';
const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** Where this process may make cgroups: for each controller a directory, on v2 the same one. */
export type CgroupHost = { version: 1 | 2; parents: ReadonlyMap<Controller, string> };

export type CgroupStats = { oomKills: number; pidsRefused: number; peakBytes: number | null; cpuMs: number | null };

/** Not counted as the run's: the outer bwrap and our PID 1. */
const OWN_PROCESSES = 2;
const PARENT = 'skillbox';

/** Pure: the mount points and our own place in them, from /proc/self/mountinfo and /proc/self/cgroup. */
export function parseCgroups(
  mountinfo: string,
  own: string,
): { v1: Map<Controller, string>; v2: string | null; v2Root: string | null } {
  const paths = new Map<string, string>();
  let unified = '/';
  for (const line of own.split('\n')) {
    const [number, controllers = '', ...rest] = line.split(':');
    if (number === '0') unified = rest.join(':');
    else for (const controller of controllers.split(',')) paths.set(controller, rest.join(':'));
  }
  const v1 = new Map<Controller, string>();
  let v2: string | null = null;
  let v2Root: string | null = null;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const [, , , root = '/', at = ''] = left.split(' ');
    const [type, , options = ''] = right.split(' ');
    const below = (path: string) => join(at, path.startsWith(root) ? path.slice(root.length) : '');
    if (type === 'cgroup2' && v2 === null) {
      v2 = below(unified);
      v2Root = at;
    }
    if (type !== 'cgroup') continue;
    for (const controller of CONTROLLERS)
      if (options.split(',').includes(controller)) v1.set(controller, below(paths.get(controller) ?? '/'));
  }
  return { v1, v2, v2Root };
}

/** Finds, by making and removing one, where cgroups can be made. Null when nowhere. */
export async function findCgroups(): Promise<CgroupHost | null> {
  let found: ReturnType<typeof parseCgroups>;
  try {
    found = parseCgroups(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  } catch {
    return null; // no /proc or no cgroups: the driver then says which guarantees are weaker
  }
  if (found.v2 !== null && found.v2Root !== null) {
    const parent = await unifiedParent(found.v2, found.v2Root);
    if (parent !== null) return parent;
  }
  const parents = new Map<Controller, string>();
  for (const [controller, at] of found.v1) {
    const parent = join(at, PARENT);
    if (await canMake(parent)) parents.set(controller, parent);
  }
  return parents.size === 0 ? null : { version: 1, parents };
}

/**
 * v2 gives controllers only to the children of a cgroup without processes. So the nearest ancestor is looked for that
 * we may write to and that hands controllers down: `app.slice` of a user's session, or the root.
 */
async function unifiedParent(own: string, root: string): Promise<CgroupHost | null> {
  for (let at = own; at.startsWith(root); at = join(at, '..')) {
    const parent = join(at, PARENT);
    try {
      await access(join(at, 'cgroup.procs'), constants.W_OK);
      const available = words(join(at, 'cgroup.controllers'));
      const wanted = CONTROLLERS.filter(controller => available.includes(controller));
      if (wanted.length > 0) {
        await handDown(at, wanted);
        await mkdir(parent, { recursive: true });
        await handDown(parent, wanted);
        if (await canMake(parent)) return { version: 2, parents: new Map(wanted.map(name => [name, parent])) };
      }
    } catch (error) {
      // Not ours to write, or it holds processes: try further up.
      if (!['EACCES', 'EPERM', 'EBUSY', 'ENOENT', 'EROFS', 'EOPNOTSUPP'].includes(errnoOf(error) ?? '')) throw error;
    }
    if (at === root) break;
  }
  return null;
}

async function handDown(at: string, wanted: readonly Controller[]): Promise<void> {
  const file = join(at, 'cgroup.subtree_control');
  const missing = wanted.filter(name => !words(file).includes(name));
  if (missing.length > 0) await writeFile(file, missing.map(name => `+${name}`).join(' '));
}

function words(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split(/\s+/);
}

async function canMake(parent: string): Promise<boolean> {
  const probe = join(parent, `probe-${process.pid}-${Math.random().toString(36).slice(2)}`);
  try {
    await mkdir(parent, { recursive: true });
    await mkdir(probe);
    await access(join(probe, 'cgroup.procs'), constants.W_OK);
    await rmdir(probe);
    return true;
  } catch {
    return false; // the answer is the whole point; doctor shows it
  }
}

export type Setting = { controller: Controller; file: string; value: string; optional: boolean };

/** Pure: what is written where. `optional` files exist only on some kernels. */
export function cgroupSettings(version: 1 | 2, limits: Limits): Setting[] {
  const quota = Math.max(1000, Math.round(limits.cpus * 100_000));
  const memory = String(Math.round(limits.memoryBytes));
  const pids = String(limits.pids + OWN_PROCESSES);
  const set = (controller: Controller, file: string, value: string, optional = false) => ({
    controller,
    file,
    value,
    optional,
  });
  if (version === 2)
    return [
      set('memory', 'memory.max', memory),
      set('memory', 'memory.swap.max', '0', true),
      set('memory', 'memory.oom.group', '1', true),
      set('pids', 'pids.max', pids),
      set('cpu', 'cpu.max', `${quota} 100000`),
    ];
  return [
    set('memory', 'memory.limit_in_bytes', memory),
    set('memory', 'memory.memsw.limit_in_bytes', memory, true),
    set('memory', 'memory.swappiness', '0', true),
    set('pids', 'pids.max', pids),
    set('cpu', 'cpu.cfs_period_us', '100000'),
    set('cpu', 'cpu.cfs_quota_us', String(quota)),
  ];
}

export type Cgroup = {
  /** Files that take a pid. */
  procs: readonly string[];
  limit(limits: Limits): void;
  stats(): CgroupStats;
  remove(): Promise<void>;
};

export async function makeCgroup(host: CgroupHost, id: string): Promise<Cgroup> {
  const directories = new Map([...host.parents].map(([name, parent]) => [name, join(parent, id)]));
  const unique = [...new Set(directories.values())];
  // Synchronous, as the writes below: each takes a fraction of a trip to the thread pool.
  for (const directory of unique) mkdirSync(directory);
  return {
    procs: unique.map(directory => join(directory, 'cgroup.procs')),
    limit(limits) {
      for (const { controller, file, value, optional } of cgroupSettings(host.version, limits)) {
        const directory = directories.get(controller);
        if (directory === undefined || (optional && !existsSync(join(directory, file)))) continue;
        // Synchronous: six writes of microseconds each, where every trip to the thread pool costs more than the write.
        writeFileSync(join(directory, file), value);
      }
    },
    stats: () => readStats(host.version, directories),
    remove: () => removeAll(unique),
  };
}

/** Events, not exit codes: an OOM-killed child can leave its parent with 0. */
function readStats(version: 1 | 2, directories: ReadonlyMap<Controller, string>): CgroupStats {
  const number = (controller: Controller, file: string, key: string | null): number | null => {
    const directory = directories.get(controller);
    if (directory === undefined) return null;
    try {
      const text = readFileSync(join(directory, file), 'utf8');
      const found = key === null ? /^\d+/.exec(text)?.[0] : new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1];
      return found === undefined ? null : Number(found);
    } catch {
      return null; // this kernel has no such file; the figure stays unknown
    }
  };
  return version === 2
    ? {
        oomKills: number('memory', 'memory.events', 'oom_kill') ?? 0,
        pidsRefused: number('pids', 'pids.events', 'max') ?? 0,
        peakBytes: number('memory', 'memory.peak', null),
        cpuMs: scale(number('cpu', 'cpu.stat', 'usage_usec')),
      }
    : {
        oomKills: number('memory', 'memory.oom_control', 'oom_kill') ?? 0,
        pidsRefused: number('pids', 'pids.events', 'max') ?? 0,
        peakBytes: number('memory', 'memory.max_usage_in_bytes', null),
        cpuMs: null,
      };
}

const scale = (usec: number | null) => (usec === null ? null : usec / 1000);

async function removeAll(directories: readonly string[]): Promise<void> {
  for (const directory of directories) {
    // The pid namespace is not fully gone when its last pipe closes: EBUSY for some milliseconds.
    for (let attempt = 0; ; attempt++) {
      try {
        await rmdir(directory);
        break;
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') break;
        if (errnoOf(error) !== 'EBUSY' || attempt >= 400) throw error;
        await sleep(attempt < 20 ? 2 : 10);
      }
    }
  }
}

/** The ids of all runs that have a cgroup here. */
export async function listCgroups(host: CgroupHost): Promise<string[]> {
  const ids = new Set<string>();
  for (const parent of new Set(host.parents.values()))
    for (const entry of await readdir(parent, { withFileTypes: true })) if (entry.isDirectory()) ids.add(entry.name);
  return [...ids];
}

/** For a run whose owner is dead: whatever still lives in it is killed, then the directories go. */
export async function destroyCgroup(host: CgroupHost, id: string): Promise<void> {
  const directories = [...new Set([...host.parents.values()].map(parent => join(parent, id)))].filter(path =>
    existsSync(path),
  );
  for (const directory of directories) {
    const pids = await readFile(join(directory, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const pid of pids.split('\n').filter(line => line !== '' && line !== '0')) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch (error) {
        if (errnoOf(error) !== 'ESRCH') throw error;
      }
    }
  }
  await removeAll(directories);
}

/** For tests and doctor: how many runs have a cgroup now. */
export function countCgroups(host: CgroupHost): number {
  const [parent] = host.parents.values();
  return parent === undefined
    ? 0
    : readdirSync(parent, { withFileTypes: true }).filter(entry => entry.isDirectory()).length;
}
