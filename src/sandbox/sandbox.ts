import type { Readable } from 'node:stream';
import { SkillboxError } from '../base/index.ts';

/** What a sandbox may promise. A driver says for each how firmly it holds on this host, after probing. */
export const GUARANTEES = [
  /** Nothing of the host's files is seen but what the spec mounts and the read-only runtime. */
  'files',
  /** No interface but lo; nothing leaves but through the egress socket. */
  'network',
  /** Host processes are neither seen nor signalled, and no process of the run outlives it. */
  'processes',
  /** A seccomp allow-list stands between the run and the kernel. */
  'syscalls',
  /** No capability, no new privileges, no nested user namespace. */
  'privileges',
  /** A host uid that no other run and no user has. */
  'identity',
  /** Host environment, arguments and file descriptors do not reach the run. */
  'environment',
  /** tmpfs that the run may write to is noexec and sized. */
  'tmpfs',
  /** WS-10: what an editor, git or an agent would execute is read-only in a writable mount, and secrets are hidden. */
  'workspace',
  'time',
  'cpu',
  'memory',
  'pids',
  'open-files',
  'file-size',
  'disk',
  'output',
] as const;
export type Guarantee = (typeof GUARANTEES)[number];

/**
 * Who holds a guarantee: the kernel for the whole tree of processes, the kernel for each process alone,
 * a watcher that looks every so often, or nobody.
 */
export const LEVELS = ['none', 'polled', 'kernel-process', 'kernel-tree'] as const;
export type Level = (typeof LEVELS)[number];
export type Enforces = ReadonlyMap<Guarantee, Level>;
export type Requires = ReadonlyMap<Guarantee, Level>;

/** One place inside the sandbox. `at` is an absolute path there; a later mount may lie inside an earlier one. */
export type SandboxMount =
  | {
      kind: 'bind';
      /** On the host. A file or a directory; a symbolic link is refused. */
      source: string;
      at: string;
      writable: boolean;
      /** False mounts it noexec. */
      exec: boolean;
      /** WS-10 applies: set it for the user's workspace. */
      protect: Protection | null;
    }
  /** A private writable directory under the disk limit; its content is read by the host through `Handle.path`.
   *  `directories` are made in it beforehand. */
  | { kind: 'out'; at: string; directories: readonly string[] }
  | { kind: 'tmpfs'; at: string; bytes: number }
  | { kind: 'text'; at: string; text: string };

/** WS-10. Paths are relative to the mount and name what was granted in spite of the rule. */
export type Protection = { reveal: readonly string[]; unlock: readonly string[] };

export type Limits = {
  timeMs: number;
  /** Between SIGTERM to the run's processes and SIGKILL of everything (GB-15). */
  graceMs: number;
  cpus: number;
  memoryBytes: number;
  pids: number;
  openFiles: number;
  /** One file. */
  fileBytes: number;
  /** All `out` mounts together, and what a run may add to its writable binds where that can be seen. */
  diskBytes: number;
  /** stdout and stderr together. */
  outputBytes: number;
};

/** Where an HTTP proxy is found inside a run with egress: 127.0.0.1 of its own namespace, joined to the socket. */
export const EGRESS_PORT = 3128;

/** Programs of the sandbox itself, such as `seksh` (SK-10): at the end of PATH where the spec names no PATH of its own. */
export const SANDBOX_BIN = '/.skillbox/bin';

export type Network =
  | { kind: 'none' }
  /** `socket` is the unix socket of a proxy on the host; it appears inside at `at`, and as 127.0.0.1:EGRESS_PORT. */
  | { kind: 'egress'; socket: string; at: string };

export type RuntimeSpec =
  /** The host's /usr read-only. `also` names interpreters wanted on PATH beside argv[0]. */
  | { kind: 'host'; also: readonly string[] }
  /** An unpacked image as root, without a daemon. `digest` is of its files, as hex. */
  | { kind: 'image'; name: string; digest: string; root: string };

/** Everything a run asks of a sandbox. Complete: no field has a default. */
export type RunSpec = {
  /** argv[0] is a program's name, looked up by the runtime, or an absolute path inside. */
  argv: readonly string[];
  cwd: string;
  /** All of it: nothing is inherited. PATH is prefixed with the runtime's own directories. */
  env: Readonly<Record<string, string>>;
  mounts: readonly SandboxMount[];
  limits: Limits;
  network: Network;
  runtime: RuntimeSpec;
  /** Whose run it is. What is held ready for one tenant is never another's; null where there are no tenants. */
  tenant: string | null;
  /** Levels below which the run must not start; empty means the driver's best will do. */
  requires: Requires;
};

export type StreamName = 'stdout' | 'stderr';

export type RunIo = {
  /** null is end-of-file at once. */
  stdin: string | Uint8Array | Readable | null;
  /** Called in the order read. While a returned promise is pending nothing more is read from either stream. */
  onChunk: ((stream: StreamName, chunk: Buffer) => void | Promise<void>) | null;
  /** How much of each stream's beginning the outcome carries. */
  keepBytes: number;
  signal: AbortSignal | null;
};

export type LimitEnd = 'timeout' | 'canceled' | 'out-of-memory' | 'output-limit' | 'disk-limit' | 'pids-limit';
export type End = { kind: 'exited'; code: number } | { kind: 'signaled'; signal: string } | { kind: LimitEnd };

export type Captured = { text: Buffer; bytes: number; truncated: boolean };

export type Usage = { cpuMs: number; maxMemoryBytes: number };

/** What really ran: `python3 3.11.2, host`. */
export type RuntimeUsed = { name: string; version: string | null; from: string; path: string };

export type Outcome = {
  end: End;
  stdout: Captured;
  stderr: Captured;
  durationMs: number;
  usage: Usage;
  runtime: RuntimeUsed;
  /** What held in this run; never more than the driver's `enforces`. */
  held: Enforces;
  /** WS-10: protected paths that the run created or changed where only a check could see it; they were moved away. */
  planted: readonly Planted[];
};

export type Planted = { path: string; movedTo: string | null };

/** Whose a run is. Everything made on the host carries it, so that a sweep can tell the living from the dead. */
export type Owner = {
  /** One per process that uses the sandbox. */
  instance: string;
  bootId: string;
  /** The pid namespace, because a pid means nothing outside it. */
  pidNamespace: string;
  pid: number;
  /** Clock ticks after boot: with the pid, one process and no other. */
  startTime: number;
};

export interface Handle {
  readonly id: string;
  readonly owner: Owner;
  /** Once. Resolves when every process of the run is dead and its output is read. */
  start(io: RunIo): Promise<Outcome>;
  /** SIGKILL of everything, without grace. */
  kill(): Promise<void>;
  /** Where the host finds what lies at an `out` mount, until dispose. Read it without following links. */
  path(at: string): string;
  /** Removes everything that the run left on the host. Safe to call twice. */
  dispose(): Promise<void>;
}

/** Why a driver cannot be used, or holds less than it could, and the command that fixes it. */
export type Problem = { what: string; fix: string | null; fatal: boolean };

export interface Sandbox {
  readonly name: string;
  /** Probes by really starting something. Without a fatal problem the driver is usable. */
  check(): Promise<Problem[]>;
  /** The same, but an answer that was found since the machine started will do: asked before every first run. */
  problems(): Promise<Problem[]>;
  /** Filled by both; empty before. */
  readonly enforces: Enforces;
  prepare(spec: RunSpec): Promise<Handle>;
  /** The image, by its content, that stands in for the host's programs where a run asks for those; null where it has them. */
  standIn(): Promise<{ name: string; digest: string } | null>;
  list(owner: Owner): Promise<Handle[]>;
  /** Removes what dead owners left; answers the ids. */
  sweep(): Promise<string[]>;
  /**
   * Gets ready for a run to come, where a driver can: call it early, before the skill is read. Resolves when the wait that is
   * left needs nothing of this process. `like`: a name for that run, under which a driver may keep what it was like; null: it has none.
   */
  warm(like: string | null): Promise<void>;
  /** Gives up what is held ready. Runs are not touched. */
  close(): Promise<void>;
}

/** prepare, start, dispose in one: for runs whose `out` nobody reads. */
export async function run(sandbox: Sandbox, spec: RunSpec, io: RunIo): Promise<Outcome> {
  const handle = await sandbox.prepare(spec);
  try {
    return await handle.start(io);
  } finally {
    await handle.dispose();
  }
}

export function atLeast(level: Level, wanted: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
}

/** A missing guard is never a log line: the run is refused. */
export function refuseMissing(driver: string, enforces: Enforces, requires: Requires): void {
  const missing = [...requires].filter(([guarantee, level]) => !atLeast(enforces.get(guarantee) ?? 'none', level));
  if (missing.length === 0) return;
  const list = missing.map(([guarantee, level]) => `${guarantee}: ${enforces.get(guarantee) ?? 'none'}, not ${level}`);
  throw new SkillboxError(
    'SANDBOX_CANNOT_ENFORCE',
    `The ${driver} sandbox cannot hold what is required (${list.join('; ')}).`,
    {
      details: { driver, missing: Object.fromEntries(missing) },
    },
  );
}

/** Where a spec mounts nothing: what lies there is the sandbox's. */
export function isOwnPlace(at: string): boolean {
  return /^\/(proc|sys|\.skillbox|usr|bin|sbin|lib(?:x?32|64)?|etc)(\/|$)|^\/dev(\/(?!shm$)|$)/.test(at);
}

/** Our own faults in a spec, found before anything is made. */
export function checkSpec(spec: RunSpec): void {
  const bad = (what: string): never => {
    throw new SkillboxError('INTERNAL', `The sandbox was given ${what}.`);
  };
  const inside = (path: string, what: string) => {
    if (!path.startsWith('/') || path.includes('\0') || path.split('/').some(part => part === '..' || part === '.'))
      bad(`${what} ${JSON.stringify(path)}, which is not a plain absolute path`);
  };
  if (spec.argv.length === 0 || spec.argv[0] === '') bad('no program');
  for (const text of spec.argv) if (text.includes('\0')) bad('an argument with a NUL byte');
  for (const [name, value] of Object.entries(spec.env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) bad(`an environment variable named ${JSON.stringify(name)}`);
    if (value.includes('\0')) bad(`a NUL byte in ${name}`);
  }
  inside(spec.cwd, 'a working directory');
  for (const mount of spec.mounts) {
    inside(mount.at, 'a mount point');
    // Spelt in another way it would be taken for another place: one of the sandbox's own, or one in somebody's folder.
    if (mount.at.endsWith('/') || mount.at.includes('//')) bad(`a mount point ${JSON.stringify(mount.at)}`);
    if (mount.kind === 'bind') inside(mount.source, 'a mount source');
  }
  for (const [name, value] of Object.entries(spec.limits))
    if (!Number.isFinite(value) || value < 0 || (value === 0 && name !== 'graceMs')) bad(`${name} = ${value}`);
}
