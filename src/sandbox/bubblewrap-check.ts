import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { BubblewrapOptions, Workings } from './bubblewrap.ts';
import { canJoin, canMountTmpfs, levels, probeInside } from './bubblewrap-probe.ts';
import { type CgroupHost, type Controller, findCgroups } from './cgroup-find.ts';
import { findHelper } from './helper.ts';
import type { Keeper } from './keeper.ts';
import { newId, thisOwner } from './owner.ts';
import type { Guarantee, Level, Problem } from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makePrivate, realPathOf } from './state.ts';

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
const HELPER = 'skillbox-helper 11';

/**
 * A probe costs some 40 ms, more than a run. Nothing it looks at changes while host, tools, account and cgroup stay the
 * same, and the helper stops a run at anything it cannot set up; so an answer without fatal problems is kept.
 */
export async function recallOrProbe(options: Workings): Promise<Standing> {
  const path = join(options.stateDir, 'standing.json');
  const key = standingKey(options);
  try {
    // Synchronous: a command waits for this alone, and may be busy loading itself when an answer would come.
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Kept;
    if (key !== null && kept.key === key && stillThere(kept)) return unpack(kept);
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

/** systemd removes the cgroup of a service that stops, with ours in it, and makes one of the same name when it starts again. */
function stillThere(kept: Kept): boolean {
  return kept.cgroups?.parents.every(([, parent]) => existsSync(parent)) ?? true;
}

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
  const aside = join(options.stateDir, `.standing-${newId(thisOwner())}`);
  await writeFile(aside, JSON.stringify(kept), { mode: 0o600 });
  await rename(aside, join(options.stateDir, 'standing.json'));
}

/** Finds the tools and then really runs something, as a run would be. */
export async function probeHost(options: Workings): Promise<Standing> {
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
  const cgroups = options.cgroups ? await usableCgroups(options.keeperOf(helper)) : null;
  const outTmpfs = process.getuid?.() === 0 && (await canMountTmpfs(options.keeperOf(helper), options.stateDir));
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

/** Only those that a process of a run really came into. */
async function usableCgroups(keeper: Keeper): Promise<CgroupHost | null> {
  const found = findCgroups();
  return found !== null && (await canJoin(keeper, found)) ? found : null;
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
