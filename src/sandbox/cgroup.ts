import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
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
  let gauges: Gauges | null = null;
  const opened = () => {
    gauges ??= openGauges(host.version, directories);
    return gauges;
  };
  return {
    procs: unique.map(directory => join(directory, 'cgroup.procs')),
    limit(limits) {
      for (const { controller, file, value, optional } of cgroupSettings(host.version, limits)) {
        const directory = directories.get(controller);
        if (directory === undefined || (optional && !existsSync(join(directory, file)))) continue;
        // Synchronous: six writes of microseconds each, where every trip to the thread pool costs more than the write.
        writeFileSync(join(directory, file), value);
      }
      opened(); // now, when nobody waits yet
    },
    stats: () => opened().read(),
    remove() {
      gauges?.close();
      return removeAll(unique);
    },
  };
}

type Gauges = { read(): CgroupStats; close(): void };
type Gauge = { read(): number | null; close(): void };

/** Read into and looked at at once: one for all. */
let scratch: Buffer | null = null;

/** One figure of a cgroup. The file stays open: it is asked for while the run goes on, and at its end somebody waits. */
function openGauge(directory: string | undefined, file: string, pattern: RegExp): Gauge {
  let fd = directory === undefined ? null : openIfThere(join(directory, file));
  return {
    read() {
      if (fd === null) return null; // this kernel has no such file; the figure stays unknown
      try {
        scratch ??= Buffer.allocUnsafeSlow(4096);
        const found = pattern.exec(scratch.toString('latin1', 0, readSync(fd, scratch, 0, scratch.length, 0)))?.[1];
        return found === undefined ? null : Number(found);
      } catch {
        return null; // the cgroup is gone
      }
    },
    close() {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}

const FIRST = /^(\d+)/;
const OOM_KILLS = /^oom_kill (\d+)$/m;
const REFUSED = /^max (\d+)$/m;
const CPU_USED = /^usage_usec (\d+)$/m;

/** Events, not exit codes: an OOM-killed child can leave its parent with 0. */
function openGauges(version: 1 | 2, directories: ReadonlyMap<Controller, string>): Gauges {
  const open = (controller: Controller, file: string, pattern: RegExp) =>
    openGauge(directories.get(controller), file, pattern);
  const oomKills = open('memory', version === 2 ? 'memory.events' : 'memory.oom_control', OOM_KILLS);
  const pidsRefused = open('pids', 'pids.events', REFUSED);
  const peakBytes = open('memory', version === 2 ? 'memory.peak' : 'memory.max_usage_in_bytes', FIRST);
  const cpu = version === 2 ? open('cpu', 'cpu.stat', CPU_USED) : null;
  return {
    read(): CgroupStats {
      const usec = cpu?.read() ?? null;
      return {
        oomKills: oomKills.read() ?? 0,
        pidsRefused: pidsRefused.read() ?? 0,
        peakBytes: peakBytes.read(),
        cpuMs: usec === null ? null : usec / 1000,
      };
    },
    close() {
      for (const gauge of [oomKills, pidsRefused, peakBytes, cpu]) gauge?.close();
    },
  };
}

async function removeAll(directories: readonly string[], meanwhile: (directory: string) => void = () => {}) {
  for (const directory of directories) {
    // The pid namespace is not fully gone when its last pipe closes: EBUSY for some milliseconds.
    for (let attempt = 0; ; attempt++) {
      try {
        meanwhile(directory);
        // Not synchronous: the kernel lets it wait while somebody else joins a cgroup, and everybody here would wait with it.
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
