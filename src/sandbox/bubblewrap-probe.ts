import { execFile } from 'node:child_process';
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SkillboxError } from '../base/index.ts';
import type { Workings } from './bubblewrap.ts';
import { type Facts, INSIDE_UID, planRun } from './bubblewrap-plan.ts';
import { carryOut } from './bubblewrap-run.ts';
import { makeCgroup } from './cgroup.ts';
import type { CgroupHost } from './cgroup-find.ts';
import type { Keeper } from './keeper.ts';
import { startLauncher } from './launcher.ts';
import { newId, thisOwner } from './owner.ts';
import { seenInside } from './probe-levels.ts';
import { hostRoot } from './runtime.ts';
import type { Guarantee, Level, RunSpec } from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makeEtc } from './state.ts';

const call = promisify(execFile);

export async function canMountTmpfs(keeper: Keeper, stateDir: string): Promise<boolean> {
  const at = join(stateDir, `probe-${process.pid}`);
  try {
    await mkdir(at, { recursive: true });
    await call('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=64k,noexec,nosuid,nodev', 'skillbox-probe', at], {
      env: {},
    });
    await keeper.unmount(at);
    return true;
  } catch {
    return false; // a root without that power: `out` is then polled, and enforces says so
  } finally {
    await rmdir(at).catch(() => undefined);
  }
}

/** Whether a launcher comes into a cgroup there; the way into it may be barred although it can be made. */
export async function canJoin(keeper: Keeper, host: CgroupHost): Promise<boolean> {
  const cgroup = await makeCgroup(host, newId(thisOwner()));
  try {
    const launcher = await startLauncher(keeper, async () => cgroup.procs.flatMap(path => ['join', path]));
    launcher.kill();
    await launcher.gone;
    return true;
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    return false;
  } finally {
    await cgroup.remove();
  }
}

const PROBE_LIMITS = {
  timeMs: 10_000,
  graceMs: 0,
  cpus: 1,
  memoryBytes: 64 << 20,
  pids: 8,
  openFiles: 64,
  fileBytes: 1 << 20,
  diskBytes: 1 << 20,
  outputBytes: 1 << 16,
};

/** The helper itself is the program: nothing of the host's has to be there. */
export async function probeInside(
  tools: { bwrap: string; helper: string },
  options: Workings,
): Promise<Map<string, string>> {
  const path = '/.skillbox/helper';
  const spec: RunSpec = {
    argv: [path, 'probe'],
    cwd: '/',
    env: {},
    mounts: [],
    limits: PROBE_LIMITS,
    network: { kind: 'none' },
    runtime: { kind: 'host', also: [] },
    tenant: null,
    requires: new Map(),
  };
  const runAs = process.getuid?.() === 0 ? { uid: options.uids.first, gid: options.uids.first } : null;
  const facts: Facts = {
    ...tools,
    filter: filterFor(process.arch),
    runAs,
    root: hostRoot(),
    etc: await makeEtc(options.stateDir, INSIDE_UID),
    etcBinds: [],
    programs: [{ used: { name: path, version: null, from: 'host', path }, real: path, mounts: [], bin: null }],
    cgroup: new Set(),
    outTmpfs: null,
    files: new Map(),
    protections: new Map(),
    identities: new Map(),
  };
  const launcher = await startLauncher(options.keeperOf(tools.helper), async () =>
    runAs === null ? [] : ['ids', runAs.uid, runAs.gid],
  );
  const meters = { cgroup: null, diskFull: async () => false, diskKills: false, tick: async () => {} };
  const plan = planRun(spec, facts);
  const { end, streams } = await carryOut(
    launcher,
    () => {
      launcher.send(plan.launch);
      launcher.send(plan.init);
    },
    spec.limits,
    { stdin: null, onChunk: null, keepBytes: 1 << 16, signal: null },
    meters,
  );
  if (end.kind !== 'exited' || end.code !== 0)
    throw new SkillboxError('SANDBOX_FAILED', `the probe ended with ${JSON.stringify(end)}`);
  return new Map(
    streams.stdout.text
      .toString('utf8')
      .split('\n')
      .filter(line => line.includes(':'))
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

/** What the probe's answers are worth. */
export function levels(
  seen: ReadonlyMap<string, string>,
  cgroups: CgroupHost | null,
  outTmpfs: boolean,
): Map<Guarantee, Level> {
  return new Map<Guarantee, Level>([
    ...seenInside(seen),
    // What exists is held by the kernel; what does not exist yet is looked for.
    ['workspace', 'polled'],
    // A timer in the runtime and a later one in PID 1; what they do when it is up, the kernel does to the whole tree.
    ['time', 'kernel-tree'],
    ['cpu', cgroups?.parents.has('cpu') ? 'kernel-tree' : 'kernel-process'],
    ['memory', cgroups?.parents.has('memory') ? 'kernel-tree' : 'kernel-process'],
    // RLIMIT_NPROC set inside the user namespace counts all of this run and nothing else.
    ['pids', 'kernel-tree'],
    ['open-files', 'kernel-process'],
    ['file-size', 'kernel-process'],
    ['disk', outTmpfs ? 'kernel-tree' : 'polled'],
    ['output', 'kernel-tree'],
  ]);
}
