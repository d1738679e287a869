import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { BubblewrapOptions } from './bubblewrap.ts';
import { type Facts, INSIDE_UID, planRun } from './bubblewrap-plan.ts';
import { carryOut } from './bubblewrap-run.ts';
import { type CgroupHost, type Controller, findCgroups } from './cgroup.ts';
import { findHelper } from './helper.ts';
import { startLauncher } from './launcher.ts';
import { thisOwner } from './owner.ts';
import { hostRoot } from './runtime.ts';
import type { Guarantee, Level, Problem, RunSpec } from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makeEtc, makePrivate, realPathOf } from './state.ts';

const call = promisify(execFile);

/** What was found on this host. */
export type Standing = {
  problems: Problem[];
  enforces: ReadonlyMap<Guarantee, Level>;
  tools: { bwrap: string; helper: string } | null;
  cgroups: CgroupHost | null;
  /** A tmpfs can be mounted on the host for `out`. */
  outTmpfs: boolean;
};

const PLACES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];
const HELPER = 'skillbox-helper 1';

/**
 * A probe costs some 40 ms, more than a run. Nothing it looks at changes while host, tools, account and cgroup stay the
 * same, and the helper stops a run at anything it cannot set up; so an answer without fatal problems is kept.
 */
export async function recallOrProbe(options: BubblewrapOptions): Promise<Standing> {
  const path = join(options.stateDir, 'standing.json');
  const key = standingKey(options);
  try {
    const kept = JSON.parse(await readFile(path, 'utf8')) as Kept;
    if (key !== null && kept.key === key) return unpack(kept);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && !(error instanceof SyntaxError)) throw error;
  }
  return probeHost(options);
}

type Kept = {
  key: string;
  problems: Problem[];
  enforces: [Guarantee, Level][];
  tools: { bwrap: string; helper: string };
  cgroups: { version: 1 | 2; parents: [Controller, string][] } | null;
  outTmpfs: boolean;
};

function unpack(kept: Kept): Standing {
  const cgroups =
    kept.cgroups === null ? null : { version: kept.cgroups.version, parents: new Map(kept.cgroups.parents) };
  return {
    problems: kept.problems,
    enforces: new Map(kept.enforces),
    tools: kept.tools,
    cgroups,
    outTmpfs: kept.outTmpfs,
  };
}

/** Everything the answer depends on; null when a tool is missing. */
function standingKey(options: BubblewrapOptions): string | null {
  const helper = options.helper ?? findHelper();
  const bwrap = options.bwrap ?? PLACES.find(isExecutable) ?? null;
  if (helper === null || bwrap === null) return null;
  try {
    const stamp = (file: string) => {
      const { ino, size, mtimeMs, ctimeMs, mode } = statSync(file);
      return [file, ino, size, mtimeMs, ctimeMs, mode];
    };
    const host = [thisOwner().bootId, release(), process.getuid?.(), process.getgid?.(), process.arch];
    return JSON.stringify([
      HELPER,
      host,
      stamp(helper),
      stamp(bwrap),
      readFileSync('/proc/self/cgroup', 'utf8'),
      options.cgroups,
      options.uids,
    ]);
  } catch {
    return null; // whatever is wrong, the probe says it better
  }
}

async function keep(
  options: BubblewrapOptions,
  standing: Standing & { tools: NonNullable<Standing['tools']> },
): Promise<void> {
  const key = standingKey(options);
  if (key === null || standing.problems.some(problem => problem.fatal)) return;
  const { problems, enforces, tools, cgroups, outTmpfs } = standing;
  const kept: Kept = {
    key,
    problems,
    enforces: [...enforces],
    tools,
    cgroups: cgroups && { version: cgroups.version, parents: [...cgroups.parents] },
    outTmpfs,
  };
  const aside = join(options.stateDir, `.standing-${process.pid}`);
  await writeFile(aside, JSON.stringify(kept), { mode: 0o600 });
  await rename(aside, join(options.stateDir, 'standing.json'));
}

/** Finds the tools and then really runs something, as a run would be. */
export async function probeHost(options: BubblewrapOptions): Promise<Standing> {
  const problems: Problem[] = [];
  const nothing = (): Standing => ({ problems, enforces: new Map(), tools: null, cgroups: null, outTmpfs: false });
  const fatal = (what: string, fix: string | null): Standing => {
    problems.push({ what, fix, fatal: true });
    return nothing();
  };
  if (process.platform !== 'linux')
    return fatal(`bubblewrap needs Linux, this is ${process.platform}`, 'Use the docker sandbox.');
  try {
    filterFor(process.arch);
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    return fatal(error.message, error.hint);
  }
  const found = options.helper ?? findHelper();
  const helper = found === null || !isExecutable(found) ? found : realPathOf(found);
  if (helper === null || !isExecutable(helper))
    return fatal(
      `the static helper is not there${helper === null ? '' : ` (${helper})`}`,
      'node scripts/build-helper.mjs',
    );
  const version = await call(helper, ['--version'], { env: {} }).then(
    ({ stdout }) => stdout.trim(),
    () => 'nothing',
  );
  if (version !== HELPER)
    return fatal(`the static helper is another version (${version}, not ${HELPER})`, 'node scripts/build-helper.mjs');
  const bwrap = options.bwrap ?? PLACES.find(isExecutable) ?? null;
  if (bwrap === null || !isExecutable(bwrap)) return fatal('bubblewrap is not installed', 'apt-get install bubblewrap');
  const bwrapVersion = await call(bwrap, ['--version'], { env: {} }).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
  if (olderThan(bwrapVersion, [0, 5]))
    return fatal(`${bwrapVersion} is too old; 0.5 is needed`, 'apt-get install bubblewrap');

  await makePrivate(join(options.stateDir, 'runs'));
  const cgroups = options.cgroups ? await findCgroups() : null;
  const outTmpfs = process.getuid?.() === 0 && (await canMountTmpfs(helper, options));
  const tools = { bwrap, helper };
  let seen: Map<string, string>;
  try {
    seen = await probeInside(tools, options);
  } catch (error) {
    return fatal(`a probe did not start: ${error instanceof Error ? error.message : String(error)}`, namespaceFix());
  }
  const enforces = levels(seen, cgroups, outTmpfs);
  for (const guarantee of ['files', 'network', 'processes', 'syscalls', 'privileges', 'environment', 'tmpfs'] as const)
    if (enforces.get(guarantee) === 'none')
      problems.push({
        what: `the probe found ${guarantee} open (${[...seen].map(pair => pair.join('=')).join(' ')})`,
        fix: null,
        fatal: true,
      });
  for (const controller of ['memory', 'pids', 'cpu'] as const)
    if (enforces.get(controller) !== 'kernel-tree')
      problems.push({
        what: `no cgroup with the ${controller} controller can be made here, so ${controller} is ${enforces.get(controller)}`,
        fix: 'Run Skillbox as root, or in a delegated cgroup: systemd-run --user --scope -p Delegate=yes skillbox …',
        fatal: false,
      });
  if (process.getuid?.() !== 0)
    problems.push({
      what: 'runs have the uid of this account: an escape would be the account',
      fix: 'Run the server as root, or use docker.',
      fatal: false,
    });
  const standing = { problems, enforces, tools, cgroups, outTmpfs };
  await keep(options, standing);
  return standing;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // absent and forbidden are the same to us
  }
}

function olderThan(text: string, [major, minor]: [number, number]): boolean {
  const found = /(\d+)\.(\d+)/.exec(text);
  if (found === null) return true;
  return Number(found[1]) < major || (Number(found[1]) === major && Number(found[2]) < minor);
}

function namespaceFix(): string {
  if (existsSync('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'))
    return 'Give /usr/bin/bwrap an AppArmor profile with `userns,`, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0';
  if (existsSync('/.dockerenv') || existsSync('/run/.containerenv'))
    return 'Start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or use the docker sandbox.';
  return 'sysctl -w user.max_user_namespaces=15000 (and kernel.unprivileged_userns_clone=1 where it exists)';
}

async function canMountTmpfs(helper: string, options: BubblewrapOptions): Promise<boolean> {
  const at = join(options.stateDir, `probe-${process.pid}`);
  try {
    await mkdir(at, { recursive: true });
    await call('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=64k,noexec,nosuid,nodev', 'skillbox-probe', at], {
      env: {},
    });
    await call(helper, ['unmount', at], { env: {} });
    return true;
  } catch {
    return false; // a root without that power: `out` is then polled, and enforces says so
  } finally {
    await rmdir(at).catch(() => undefined);
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
async function probeInside(
  tools: { bwrap: string; helper: string },
  options: BubblewrapOptions,
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
  };
  const launcher = await startLauncher(tools.helper, async () => (runAs === null ? [] : ['ids', runAs.uid, runAs.gid]));
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

function levels(
  seen: ReadonlyMap<string, string>,
  cgroups: CgroupHost | null,
  outTmpfs: boolean,
): Map<Guarantee, Level> {
  const is = (key: string, value: string) => seen.get(key) === value;
  const tree = (holds: boolean): Level => (holds ? 'kernel-tree' : 'none');
  const noCapability = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].every(key =>
    /^0+$/.test(seen.get(key) ?? 'x'),
  );
  const refused = (key: string) => !is(key, '0') && seen.has(key);
  return new Map<Guarantee, Level>([
    ['files', tree(refused('root') && refused('sysctl'))],
    ['network', tree(is('interfaces', '1'))],
    ['processes', tree(is('processes', '2'))],
    ['syscalls', tree(is('Seccomp', '2') && refused('netlink'))],
    ['privileges', tree(noCapability && is('NoNewPrivs', '1') && refused('unshare'))],
    ['identity', process.getuid?.() === 0 ? 'kernel-tree' : 'none'],
    ['environment', tree(refused('pid1'))],
    ['tmpfs', tree(is('noexec', '1'))],
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
