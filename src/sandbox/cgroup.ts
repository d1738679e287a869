import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../base/index.ts';
import type { CgroupHost, Controller } from './cgroup-find.ts';
import type { Limits } from './sandbox.ts';

export type CgroupStats = { oomKills: number; pidsRefused: number; peakBytes: number | null; cpuMs: number | null };

/** Not counted as the run's: the outer bwrap and our PID 1. */
const OWN_PROCESSES = 2;
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

async function removeAll(directories: readonly string[], meanwhile: (directory: string) => void = () => {}) {
  for (const directory of directories) {
    // The pid namespace is not fully gone when its last pipe closes: EBUSY for some milliseconds.
    for (let attempt = 0; ; attempt++) {
      try {
        meanwhile(directory);
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

/** For a run whose owner is dead: whatever still lives in it is killed, until nothing does, then the directories go. */
export async function destroyCgroup(host: CgroupHost, id: string): Promise<void> {
  const directories = [...new Set([...host.parents.values()].map(parent => join(parent, id)))].filter(path =>
    existsSync(path),
  );
  await removeAll(directories, killAll);
}

/** v2 kills all of a cgroup at once, what is being forked too; elsewhere there is a list, which may be old when it is read. */
function killAll(directory: string): void {
  const atOnce = join(directory, 'cgroup.kill');
  if (existsSync(atOnce)) {
    writeFileSync(atOnce, '1');
    return;
  }
  const pids = readFileSync(join(directory, 'cgroup.procs'), 'utf8');
  for (const pid of pids.split('\n').filter(line => line !== '' && line !== '0')) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if (errnoOf(error) !== 'ESRCH') throw error;
    }
  }
}

/** For tests and doctor: how many runs have a cgroup now. */
export function countCgroups(host: CgroupHost): number {
  const [parent] = host.parents.values();
  return parent === undefined
    ? 0
    : readdirSync(parent, { withFileTypes: true }).filter(entry => entry.isDirectory()).length;
}
