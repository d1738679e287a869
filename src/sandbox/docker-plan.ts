import { join } from 'node:path';
import type { EngineFacts } from './docker-engine.ts';
import type { Token } from './helper.ts';
import type { Identity } from './hold.ts';
import type { ProtectionPlan } from './protect.ts';
import { EGRESS_PORT, type RunSpec, SANDBOX_BIN, type SandboxMount } from './sandbox.ts';

export type DockerFacts = {
  image: string;
  engine: EngineFacts['kind'];
  /** runsc, kata…; null is the daemon's default. */
  runtime: string | null;
  user: { uid: number; gid: number };
  helper: string;
  /** Empty file and directory of the host, to hide things behind. */
  masks: { file: string; directory: string };
  /** Host path of each file of /etc that is the same in every container. */
  etc: ReadonlyMap<string, string>;
  labels: Readonly<Record<string, string>>;
  filter: Buffer;
  nonce: string;
  /** Host path of each `out` and `text` mount, by its place inside. */
  files: ReadonlyMap<string, string>;
  protections: ReadonlyMap<string, ProtectionPlan>;
  /** Of protected paths, those that are directories: a mask must be of the same kind. */
  directories: ReadonlySet<string>;
  /** What must be mounted at a place of a workspace, as it was judged. */
  identities: ReadonlyMap<string, Identity & { readOnly: boolean }>;
};

type Bind = {
  Type: 'bind';
  Source: string;
  Target: string;
  ReadOnly: boolean;
  BindOptions: { Propagation: 'rprivate' };
};

const RLIMIT = { fsize: 1, core: 4, nofile: 7, memlock: 8 };
const DEFAULT_PATH = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${SANDBOX_BIN}`;
const SHM_MAX = 64 * 1024 * 1024;
/** Our PID 1, and one above the limit for its watch to see. */
const OWN_PROCESSES = 2;
/** PID 1 sets what the spec says; this is what the runtime itself still works with. */
const LEAST_OPEN_FILES = 256;
/** Where Podman mounts a tmpfs of no size into every read-only container, unless something else is there. */
const PODMAN_TMPFS = ['/run', '/tmp', '/var/tmp'];

/**
 * The body of POST /containers/create. Arguments and environment are not in it: `docker inspect` shows it to everyone
 * who may ask the daemon. They go to PID 1 on its stdin.
 */
export function planContainer(spec: RunSpec, facts: DockerFacts) {
  const { limits } = spec;
  const { uid, gid } = facts.user;
  const memory = Math.round(limits.memoryBytes);
  return {
    Image: facts.image,
    Entrypoint: ['/.skillbox/helper', 'contain'],
    Cmd: [],
    Env: [],
    User: `${uid}:${gid}`,
    WorkingDir: '/',
    Hostname: 'sandbox',
    Labels: facts.labels,
    NetworkDisabled: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      // The daemon's own filter would stand beside ours, which PID 1 loads: both must allow.
      SecurityOpt: ['no-new-privileges'],
      IpcMode: 'private',
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.max(10_000_000, Math.round(limits.cpus * 1e9)),
      PidsLimit: limits.pids + OWN_PROCESSES,
      OomScoreAdj: 500,
      Ulimits: ulimits(spec, facts),
      Tmpfs: facts.engine === 'podman' ? podmanTmpfs(spec) : tmpfs(spec, uid, gid),
      Mounts: binds(spec, facts),
      LogConfig: { Type: 'none' },
      ...(facts.runtime === null ? {} : { Runtime: facts.runtime }),
    },
  };
}

type Ulimit = { Name: string; Soft: number; Hard: number };

function ulimits({ limits }: RunSpec, { engine }: DockerFacts): Ulimit[] {
  const both = (Name: string, value: number): Ulimit => ({ Name, Soft: value, Hard: value });
  const files = both('nofile', Math.max(LEAST_OPEN_FILES, Math.round(limits.openFiles)));
  // Podman would raise both to its own figures, which not every root may. PidsLimit is what counts processes.
  return engine === 'podman' ? [files, both('nproc', Math.max(8192, 2 * limits.pids))] : [files];
}

function tmpfsSizes(spec: RunSpec): Map<string, number> {
  const sizes = new Map([['/dev/shm', Math.min(SHM_MAX, Math.floor(spec.limits.memoryBytes / 4))]]);
  for (const mount of spec.mounts) if (mount.kind === 'tmpfs') sizes.set(mount.at, mount.bytes);
  return sizes;
}

function tmpfs(spec: RunSpec, uid: number, gid: number): Record<string, string> {
  const options = (bytes: number, mode: string) =>
    `rw,noexec,nosuid,nodev,size=${bytes},nr_inodes=${Math.floor(bytes / 4096) + 16},mode=${mode},uid=${uid},gid=${gid}`;
  return Object.fromEntries(
    [...tmpfsSizes(spec)].map(([at, bytes]) => [at, options(bytes, at === '/root' ? '700' : '1777')]),
  );
}

/** Podman knows no owner and no count of files for a tmpfs: everyone may write, which here is one user. */
function podmanTmpfs(spec: RunSpec): Record<string, string> {
  const options = (bytes: number, mode: string) => `rw,noexec,nosuid,nodev,notmpcopyup,size=${bytes},mode=${mode}`;
  const sizes = tmpfsSizes(spec);
  const all = Object.fromEntries([...sizes].map(([at, bytes]) => [at, options(bytes, '1777')]));
  const taken = new Set(spec.mounts.map(mount => mount.at));
  // Root's own, and so nobody's who runs in there.
  for (const at of PODMAN_TMPFS) if (!taken.has(at)) all[at] = options(4096, '755');
  return all;
}

function binds(spec: RunSpec, facts: DockerFacts): Bind[] {
  const bind = (Source: string, Target: string, writable: boolean): Bind => ({
    Type: 'bind',
    Source,
    Target,
    ReadOnly: !writable,
    BindOptions: { Propagation: 'rprivate' },
  });
  const all = [bind(facts.helper, '/.skillbox/helper', false), bind(facts.helper, `${SANDBOX_BIN}/seksh`, false)];
  for (const [at, path] of facts.etc) all.push(bind(path, at, false));
  for (const mount of spec.mounts) {
    if (mount.kind === 'tmpfs') continue;
    if (mount.kind !== 'bind') {
      all.push(bind(facts.files.get(mount.at) ?? '', mount.at, mount.kind === 'out'));
      continue;
    }
    all.push(bind(mount.source, mount.at, mount.writable), ...guards(mount, facts, bind));
  }
  if (spec.network.kind === 'egress') all.push(bind(spec.network.socket, spec.network.at, false));
  return all;
}

/** WS-10 as mounts: the same three means as PID 1 uses under bubblewrap. */
function guards(
  mount: Extract<SandboxMount, { kind: 'bind' }>,
  facts: DockerFacts,
  bind: (source: string, target: string, writable: boolean) => Bind,
): Bind[] {
  const plan = facts.protections.get(mount.at);
  if (plan === undefined) return [];
  const all: Bind[] = [];
  if (mount.writable) {
    for (const path of plan.hold) all.push(bind(join(mount.source, path), join(mount.at, path), true));
    for (const path of plan.readOnly) all.push(bind(join(mount.source, path), join(mount.at, path), false));
  }
  for (const path of plan.hidden) {
    const source = join(mount.source, path);
    all.push(
      bind(facts.directories.has(source) ? facts.masks.directory : facts.masks.file, join(mount.at, path), false),
    );
  }
  return all;
}

/** What PID 1 reads from stdin before the program does. */
export function planContained(spec: RunSpec, facts: DockerFacts): Token[] {
  const { limits } = spec;
  const tokens: Token[] = ['nonce', facts.nonce];
  // The engine followed whatever names it found: a workspace that was swapped since it was judged ends the run here.
  for (const [at, { device, inode, readOnly }] of facts.identities)
    tokens.push('mounted', at, String(device), String(inode), readOnly ? 1 : 0);
  const rlimits: [number, number][] = [
    [RLIMIT.core, 0],
    [RLIMIT.fsize, limits.fileBytes],
    [RLIMIT.nofile, limits.openFiles],
    [RLIMIT.memlock, Math.min(limits.memoryBytes, 8 * 1024 * 1024)],
  ];
  for (const [which, value] of rlimits) tokens.push('rlimit', which, Math.round(value));
  if (spec.network.kind === 'egress') tokens.push('bridge', spec.network.at, EGRESS_PORT);
  tokens.push(
    'watch',
    0,
    limits.pids,
    'deadline',
    Math.round(limits.timeMs + limits.graceMs + 5000),
    'filter',
    facts.filter,
    'cwd',
    spec.cwd,
  );
  for (const argument of spec.argv) tokens.push('arg', argument);
  for (const [name, value] of Object.entries({ PATH: DEFAULT_PATH, ...spec.env }))
    tokens.push('env', `${name}=${value}`);
  return tokens;
}
