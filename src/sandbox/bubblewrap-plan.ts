import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { builtByBwrap, builtByLauncher, type Place } from './bubblewrap-layout.ts';
import type { Controller } from './cgroup-find.ts';
import type { Token } from './helper.ts';
import type { ProtectionPlan } from './protect.ts';
import type { HostProgram, RootEntry } from './runtime.ts';
import { EGRESS_PORT, type RunSpec, SANDBOX_BIN, type SandboxMount } from './sandbox.ts';

/** What the acting half found out about the host. With it and the spec, the plan is a pure function. */
export type Facts = {
  bwrap: string;
  helper: string;
  filter: Buffer;
  /** Set when Skillbox is root: the run gets this uid, and its sources are staged where that uid can reach them. */
  runAs: { uid: number; gid: number } | null;
  root: readonly RootEntry[];
  /** A directory with a made-up /etc; null for an image, which brings its own. */
  etc: string | null;
  /** Of the host's /etc, what programs cannot do without. */
  etcBinds: readonly { source: string; at: string }[];
  programs: readonly HostProgram[];
  /** Controllers whose cgroup holds the limit; the others fall back to rlimits and PID 1's watch. */
  cgroup: ReadonlySet<Controller>;
  /** A tmpfs on the host for all `out` mounts, or null when they are plain directories. */
  outTmpfs: string | null;
  /** Host path of each `out` and `text` mount, by its place inside. */
  files: ReadonlyMap<string, string>;
  protections: ReadonlyMap<string, ProtectionPlan>;
  /** Of each protected bind: the directory that was looked at, as PID 1 must find it. */
  identities: ReadonlyMap<string, { device: bigint; inode: bigint }>;
};

/** Three messages: to `launch` outside, to bwrap, to `init` inside. */
export type Plan = { launch: Token[]; bwrap: string[]; init: Token[] };

/** Inside, the run is this user; outside it is `runAs`, or whoever runs Skillbox. */
export const INSIDE_UID = 1000;
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const DEFAULT_PATH = `/usr/local/bin:/usr/bin:/bin:${SANDBOX_BIN}`;
const RLIMIT = { fsize: 1, data: 2, core: 4, nproc: 6, nofile: 7, memlock: 8, msgqueue: 12, rtprio: 14 };
/**
 * RLIMIT_DATA counts what is reserved, and node 24 reserves 512 MiB for code before it holds a byte of the program's:
 * with less it does not start. So where node may be started, the kernel's limit per process is this much above the one
 * asked for, and PID 1's watch over resident memory holds the one asked for. Python alone has the exact limit.
 */
const NODE_RESERVE = 640 * 1024 * 1024;
const SHM_MAX = 64 * 1024 * 1024;

export function planRun(spec: RunSpec, facts: Facts): Plan {
  const { network } = spec;
  return planSandbox(spec, facts, network.kind === 'egress' ? network.at : null, [
    'cwd',
    spec.cwd,
    ...argvOf(spec, facts).flatMap(argument => ['arg', argument]),
    ...environment(spec, facts).flatMap(entry => ['env', entry]),
  ]);
}

/** What is executed, by its place inside. */
export function argvOf(spec: RunSpec, facts: Facts): string[] {
  const [program = '', ...rest] = spec.argv;
  return [facts.programs[0]?.used.path ?? program, ...rest];
}

/** All texts of a run that fit into what the launcher has for them, each of which takes whole pages there. */
const STAGED_BYTES = 512 * 1024;
const PAGE_BYTES = 4096;

/** Where a launcher stages anyway it makes the texts too, in memory: no file of the host's is written and removed for them. */
export function isStaged({ mounts }: RunSpec): boolean {
  const texts = mounts.flatMap(mount => (mount.kind === 'text' ? [Buffer.byteLength(mount.text)] : []));
  return texts.reduce((sum, bytes) => sum + Math.ceil(bytes / PAGE_BYTES), 0) <= STAGED_BYTES / PAGE_BYTES;
}

/** Everything around a program, and then what PID 1 is told to do with it. */
export function planSandbox(spec: RunSpec, facts: Facts, bridge: string | null, program: readonly Token[]): Plan {
  const places = [...rootPlaces(facts), ...devicePlaces(), ...mountPlaces(spec, facts), ...ownPlaces(facts)];
  const built = facts.runAs === null ? builtByBwrap(places) : builtByLauncher(places);
  const bwrap = [...ISOLATION, ...built.bwrap];
  const start = ['exec', facts.bwrap, 'arguments', Buffer.from(bwrap.map(argument => `${argument}\0`).join(''))];
  return {
    launch: [...outTokens(spec, facts), ...built.launch, ...start],
    bwrap,
    init: [...initTokens(spec, facts, bridge), ...program],
  };
}

/** What the launcher makes on the host, where the runtime finds it after the run. */
function outTokens({ limits, mounts }: RunSpec, facts: Facts): Token[] {
  if (facts.outTmpfs === null) return [];
  const inodes = Math.max(64, Math.floor(limits.diskBytes / 4096));
  const tokens: Token[] = ['out', facts.outTmpfs, Math.round(limits.diskBytes), inodes];
  for (const mount of mounts) {
    if (mount.kind !== 'out') continue;
    const path = hostPath(facts, mount.at);
    tokens.push('directory', path, ...mount.directories.flatMap(name => ['directory', join(path, name)]));
  }
  return tokens;
}

const ISOLATION = [
  '--unshare-user',
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--uid',
  String(INSIDE_UID),
  '--gid',
  String(INSIDE_UID),
  '--hostname',
  'sandbox',
  '--as-pid-1',
  '--die-with-parent',
  '--new-session',
  '--clearenv',
  // For PID 1 alone, until it has mounted and locked down; see the helper.
  '--cap-drop',
  'ALL',
  '--cap-add',
  'CAP_SYS_ADMIN',
  '--cap-add',
  'CAP_SYS_RESOURCE',
  '--cap-add',
  'CAP_SETPCAP',
]; // prettier-ignore

function tree(source: string, at: string, owner: 'map' | 'keep', writable = false): Place {
  return { kind: 'tree', at, source, owner, writable };
}

function rootPlaces(facts: Facts): Place[] {
  const places = facts.root.map(
    (entry): Place => (entry.kind === 'link' ? entry : tree(entry.source, entry.at, 'keep')),
  );
  if (facts.etc !== null) {
    places.push(tree(facts.etc, '/etc', 'keep'), ...facts.etcBinds.map(({ source, at }) => tree(source, at, 'keep')));
  }
  return [...places, { kind: 'proc', at: '/proc' }, ...['/tmp', '/run', '/root', '/home'].map(directory)];
}

function directory(at: string): Place {
  return { kind: 'directory', at };
}

/**
 * Not bwrap's --dev: its devpts makes it enter a second user namespace, in which PID 1 could mount nothing. So there
 * are no pseudo-terminals inside.
 */
function devicePlaces(): Place[] {
  return [
    directory('/dev'),
    directory('/dev/shm'),
    ...DEVICES.map((name): Place => ({ kind: 'device', at: `/dev/${name}` })),
    ...['stdin', 'stdout', 'stderr'].map(
      (name, index): Place => ({ kind: 'link', target: `/proc/self/fd/${index}`, at: `/dev/${name}` }),
    ),
    { kind: 'link', target: '/proc/self/fd', at: '/dev/fd' },
  ];
}

function mountPlaces(spec: RunSpec, facts: Facts): Place[] {
  const places: Place[] = [];
  for (const [index, mount] of spec.mounts.entries()) {
    if (mount.kind === 'tmpfs') {
      if (mount.at !== '/dev/shm') places.push(directory(mount.at));
      continue;
    }
    const at = tmpfsAbove(spec, mount.at) === null ? mount.at : held(index);
    const file = facts.files.get(mount.at);
    // One that the launcher makes has no file.
    if (mount.kind === 'text' && file === undefined) places.push({ kind: 'text', at, text: mount.text });
    else {
      const source = mount.kind === 'bind' ? mount.source : hostPath(facts, mount.at);
      places.push(tree(source, at, 'map', mount.kind === 'out' || (mount.kind === 'bind' && mount.writable)));
    }
  }
  for (const [index, { source, at }] of runtimeMounts(facts).entries())
    places.push(tree(source, tmpfsAbove(spec, at) === null ? at : heldRuntime(index), 'keep'));
  if (spec.network.kind === 'egress') places.push(tree(spec.network.socket, spec.network.at, 'map'));
  return places;
}

function ownPlaces(facts: Facts): Place[] {
  return [
    tree(facts.helper, '/.skillbox/helper', 'keep'),
    { kind: 'link', target: '../helper', at: `${SANDBOX_BIN}/seksh` },
    directory('/.skillbox/mask'),
  ];
}

const held = (index: number) => `/.skillbox/held/${index}`;
const heldRuntime = (index: number) => `/.skillbox/runtime/${index}`;
const runtimeMounts = (facts: Facts) => facts.programs.flatMap(program => program.mounts);

/** bwrap mounts before PID 1 does: what must lie inside a tmpfs is left aside and put there afterwards. */
function tmpfsAbove(spec: RunSpec, at: string): string | null {
  for (const mount of spec.mounts) if (mount.kind === 'tmpfs' && at.startsWith(`${mount.at}/`)) return mount.at;
  return null;
}

function initTokens(spec: RunSpec, facts: Facts, bridge: string | null): Token[] {
  const { limits } = spec;
  const tokens: Token[] = [];
  const tmpfs = spec.mounts.filter(mount => mount.kind === 'tmpfs');
  if (!tmpfs.some(mount => mount.at === '/dev/shm'))
    tokens.push('tmpfs', '/dev/shm', Math.min(SHM_MAX, Math.floor(limits.memoryBytes / 4)), '1777');
  for (const mount of tmpfs) tokens.push('tmpfs', mount.at, mount.bytes, mount.at === '/root' ? '0700' : '1777');
  for (const [index, mount] of spec.mounts.entries()) {
    const above = mount.kind === 'tmpfs' ? null : tmpfsAbove(spec, mount.at);
    if (above !== null) tokens.push('place', held(index), mount.at, above);
    tokens.push(...mountTokens(mount, facts));
  }
  for (const [index, { at }] of runtimeMounts(facts).entries()) {
    const above = tmpfsAbove(spec, at);
    if (above !== null) tokens.push('place', heldRuntime(index), at, above);
  }
  // A core dump may write memory, secrets with it, where a helper of the host picks it up.
  const rlimits: [number, number][] = [
    [RLIMIT.core, 0],
    [RLIMIT.fsize, limits.fileBytes],
    [RLIMIT.nofile, limits.openFiles],
    [RLIMIT.memlock, Math.min(limits.memoryBytes, 8 * 1024 * 1024)],
    [RLIMIT.msgqueue, 0],
    [RLIMIT.rtprio, 0],
  ];
  // Set inside the user namespace it counts this run alone: PID 1, and one above the limit for the watch to see. Beside a
  // cgroup it would only hide the refusals that the cgroup counts.
  if (!facts.cgroup.has('pids')) rlimits.push([RLIMIT.nproc, limits.pids + 2]);
  if (!facts.cgroup.has('memory')) {
    const onlyPython = facts.programs.length === 1 && facts.programs[0]?.used.name.startsWith('python');
    rlimits.push([RLIMIT.data, limits.memoryBytes + (onlyPython ? 0 : NODE_RESERVE)]);
  }
  for (const [which, value] of rlimits) tokens.push('rlimit', which, Math.round(value));
  // sched_setaffinity is not on the filter's list, so the choice holds for the whole tree: whole processors only.
  if (!facts.cgroup.has('cpu')) tokens.push('processors', Math.max(1, Math.ceil(limits.cpus)));
  const watched = [
    facts.cgroup.has('memory') ? 0 : Math.round(limits.memoryBytes),
    facts.cgroup.has('pids') ? 0 : limits.pids,
  ];
  if (watched.some(value => value > 0)) tokens.push('watch', ...watched);
  tokens.push('deadline', Math.round(limits.timeMs + limits.graceMs + 5000));
  if (bridge !== null) tokens.push('bridge', bridge, EGRESS_PORT);
  tokens.push('filter', facts.filter);
  return tokens;
}

export function environment(spec: RunSpec, facts: Facts): string[] {
  const bins = [...new Set(facts.programs.flatMap(program => program.bin ?? []))];
  const all = { ...spec.env, PATH: [...bins, spec.env.PATH ?? DEFAULT_PATH].join(':') };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}

function mountTokens(mount: SandboxMount, facts: Facts): Token[] {
  if (mount.kind === 'out') return ['noexec', mount.at];
  if (mount.kind !== 'bind') return [];
  const tokens: Token[] = [];
  const seen = facts.identities.get(mount.at);
  // bwrap follows links, and a run that may write to a folder above could put one in the way after we looked.
  if (seen !== undefined) tokens.push('same', mount.at, String(seen.device), String(seen.inode));
  if (!mount.exec) tokens.push('noexec', mount.at);
  const plan = facts.protections.get(mount.at);
  if (plan === undefined) return tokens;
  const inside = (path: string) => join(mount.at, path);
  if (mount.writable) {
    for (const path of plan.hold) tokens.push('hold', inside(path));
    for (const path of plan.readOnly) tokens.push('ro', inside(path));
  }
  for (const path of plan.hidden) tokens.push('hide', inside(path));
  return tokens;
}

function hostPath(facts: Facts, at: string): string {
  const path = facts.files.get(at);
  if (path === undefined) throw new SkillboxError('INTERNAL', `The sandbox has no host path for ${at}.`);
  return path;
}
