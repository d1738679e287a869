import { execFile, spawn } from 'node:child_process';
import { closeSync, constants as fs, openSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { feedStdin, pumpOutput, readersOf } from './output.ts';
import { isAlive, newId, ownerOfId, sameOwner, startTimeOf, thisOwner } from './owner.ts';
import { resolveProgram } from './runtime.ts';
import {
  checkSpec,
  type End,
  type Guarantee,
  type Handle,
  type Level,
  type LimitEnd,
  type Outcome,
  type RunIo,
  type RunSpec,
  type RuntimeUsed,
  refuseMissing,
  type Sandbox,
  type Usage,
} from './sandbox.ts';
import { makePrivate, overDisk, removeTree } from './state.ts';

const call = promisify(execFile);

export type ProcessOptions = {
  stateDir: string;
  search: readonly string[];
  /** The operator's configuration and the caller's own words must both ask for it. */
  allowed: { byConfiguration: boolean; byCaller: boolean };
};

const HELD: [Guarantee, Level][] = [
  ['files', 'none'],
  ['network', 'none'],
  ['processes', 'none'],
  ['syscalls', 'none'],
  ['privileges', 'none'],
  ['identity', 'none'],
  ['environment', 'none'],
  ['tmpfs', 'none'],
  ['workspace', 'none'],
  ['time', 'polled'],
  ['cpu', 'none'],
  ['memory', 'none'],
  ['pids', 'none'],
  ['open-files', 'kernel-process'],
  ['file-size', 'kernel-process'],
  ['disk', 'polled'],
  ['output', 'kernel-tree'],
];

/**
 * No isolation: the program is a process of this account like any other. Paths inside are made up: a mount's place is
 * replaced by its host path wherever it stands in argv, cwd and environment.
 */
export function createProcess(options: ProcessOptions): Sandbox {
  const enforces = new Map<Guarantee, Level>();
  const live = new Map<string, Handle>();
  const runs = join(options.stateDir, 'processes');
  const { byConfiguration, byCaller } = options.allowed;
  const refusal = !byConfiguration
    ? 'the configuration does not allow it'
    : !byCaller
      ? 'the caller did not ask for it by name'
      : null;
  const known = async () => (await readdir(runs).catch(() => [])).flatMap(id => (ownerOfId(id) === null ? [] : [id]));

  return {
    name: 'process',
    enforces,
    problems() {
      return this.check();
    },
    async check() {
      if (refusal !== null)
        return [
          {
            what: `runs without isolation are refused: ${refusal}`,
            fix: 'Set SKILLBOX_ALLOW_UNISOLATED=yes, and give --sandbox process.',
            fatal: true,
          },
        ];
      for (const [guarantee, level] of HELD) enforces.set(guarantee, level);
      return [
        {
          what: 'there is no isolation: a skill can do whatever this account can',
          fix: 'apt-get install bubblewrap',
          fatal: false,
        },
      ];
    },
    async prepare(spec) {
      checkSpec(spec);
      if (refusal !== null)
        throw new SkillboxError('SANDBOX_UNAVAILABLE', `Runs without isolation are refused: ${refusal}.`);
      if (spec.runtime.kind === 'image')
        throw new SkillboxError('IMAGE_MISSING', 'A run without isolation cannot use an image.');
      const held = new Map(HELD);
      refuseMissing('process', held, spec.requires);
      await makePrivate(runs);
      const handle = await prepareProcess(spec, options, runs, id => live.delete(id));
      live.set(handle.id, handle);
      return handle;
    },
    async list(owner) {
      return (await known()).flatMap(id => {
        const of = ownerOfId(id);
        const handle = live.get(id);
        return handle !== undefined && of !== null && sameOwner(of, owner) ? [handle] : [];
      });
    },
    async sweep() {
      const dead = (await known()).filter(id => {
        const owner = ownerOfId(id);
        return owner !== null && !isAlive(owner);
      });
      for (const id of dead) {
        await killRecorded(join(runs, id, 'leader'));
        await removeTree(join(runs, id));
      }
      return dead;
    },
    warm: async () => undefined,
    close: async () => undefined,
  };
}

async function prepareProcess(
  spec: RunSpec,
  options: ProcessOptions,
  runs: string,
  forget: (id: string) => void,
): Promise<Handle> {
  const owner = thisOwner();
  const id = newId(owner);
  const directory = join(runs, id);
  const places = new Map<string, string>();
  await mkdir(join(directory, 'root'), { recursive: true, mode: 0o700 });
  for (const mount of spec.mounts) {
    const at = join(directory, 'root', mount.at);
    places.set(mount.at, at);
    await mkdir(dirname(at), { recursive: true });
    if (mount.kind === 'bind' && mount.writable) await symlink(mount.source, at);
    // A copy, so that what was meant to be read-only is not changed on the host.
    else if (mount.kind === 'bind') await cp(mount.source, at, { recursive: true, verbatimSymlinks: true });
    else if (mount.kind === 'text') await writeFile(at, mount.text, { mode: 0o400 });
    else {
      await mkdir(at, { recursive: true, mode: 0o700 });
      if (mount.kind === 'out') for (const name of mount.directories) await mkdir(join(at, name));
    }
  }
  const rewrite = rewriter(places);
  const [name = '', ...args] = spec.argv;
  let program: { real: string; used: RuntimeUsed };
  try {
    program = name.includes('/')
      ? { real: rewrite(name), used: { name, version: null, from: 'host, not isolated', path: name } }
      : await resolveProgram(name, options.search, options.stateDir);
  } catch (error) {
    await removeTree(directory);
    throw error;
  }
  const env = Object.fromEntries(Object.entries(spec.env).map(([key, value]) => [key, rewrite(value)]));
  env.PATH = [dirname(program.real), spec.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':');
  const outs = spec.mounts.filter(mount => mount.kind === 'out').map(mount => places.get(mount.at) ?? '');
  let state: 'ready' | 'started' | 'disposed' = 'ready';
  let kill = () => {};
  let running: Promise<unknown> = Promise.resolve();
  return {
    id,
    owner,
    async start(io) {
      if (state !== 'ready') throw new SkillboxError('INTERNAL', `The run ${id} was started twice, or after its end.`);
      state = 'started';
      const started = runProcess({
        spec,
        io,
        directory,
        outs,
        argv: [program.real, ...args.map(rewrite)],
        cwd: rewrite(spec.cwd),
        env,
      });
      kill = started.kill;
      running = started.finished.catch(() => undefined); // told to whoever started it
      const { end, streams, durationMs, usage } = await started.finished;
      const used = { ...program.used, from: 'host, not isolated' };
      return { end, ...streams, durationMs, usage, runtime: used, held: new Map(HELD), planted: [] } satisfies Outcome;
    },
    async kill() {
      kill();
      await running;
    },
    path(at) {
      const path = places.get(at);
      if (path === undefined) throw new SkillboxError('INTERNAL', `Nothing of the run lies at ${at}.`);
      return path;
    },
    async dispose() {
      if (state === 'disposed') return;
      state = 'disposed';
      kill();
      await running;
      forget(id);
      await removeTree(directory);
    },
  };
}

/** Replaces a mount's place where a path begins; the longest first. */
export function rewriter(places: ReadonlyMap<string, string>): (text: string) => string {
  const byLength = [...places].sort(([a], [b]) => b.length - a.length);
  if (byLength.length === 0) return text => text;
  const any = byLength.map(([at]) => at.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const pattern = new RegExp(`(^|[\\s=:"'(>;,])(${any})(?=$|[/\\s:"');,])`, 'g');
  return text => text.replace(pattern, (_, before: string, at: string) => `${before}${places.get(at) ?? at}`);
}

type Started = {
  spec: RunSpec;
  io: RunIo;
  directory: string;
  outs: string[];
  argv: string[];
  cwd: string;
  env: Record<string, string>;
};

function runProcess({ spec, io, directory, outs, argv, cwd, env }: Started) {
  const { limits } = spec;
  let reason: LimitEnd | null = null;
  let pid: number | null = null;
  let killed = false;
  let group = (signal: NodeJS.Signals) => {
    void signal;
  };
  const timers: NodeJS.Timeout[] = [];
  const stop = (why: LimitEnd, graceMs: number) => {
    if (reason !== null) return;
    reason = why;
    group(graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
    group('SIGCONT');
    if (graceMs > 0) timers.push(setTimeout(() => group('SIGKILL'), graceMs));
  };
  const cancel = () => stop('canceled', limits.graceMs);

  const work = async () => {
    const begun = performance.now();
    if (io.signal?.aborted)
      return {
        end: { kind: 'canceled' } as End,
        streams: { stdout: nothing(), stderr: nothing() },
        durationMs: 0,
        usage: { cpuMs: 0, maxMemoryBytes: 0 },
      };
    const pipes = await makeStreams(directory, io.stdin);
    // The shell only sets limits and becomes the program; the arguments are its own, never text it reads.
    const script = `ulimit -c 0; ulimit -n ${limits.openFiles}; ulimit -f ${Math.ceil(limits.fileBytes / 512)}; ${'PWD' in env ? '' : 'unset PWD; '}exec "$@"`;
    const child = spawn('/bin/sh', ['-c', script, 'sh', ...argv], {
      cwd,
      env,
      detached: true,
      stdio: pipes.child,
    });
    for (const fd of pipes.child) closeSync(fd);
    const readers = readersOf(pipes.own);
    const output = pumpOutput(readers, io, limits.outputBytes, () => stop('output-limit', 0));
    if (pipes.own.stdin !== null) void feedStdin(pipes.own.stdin, io.stdin);
    const exited = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.once('error', error =>
        reject(new SkillboxError('SANDBOX_FAILED', `The program did not start: ${error.message}.`, { cause: error })),
      );
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    pid = child.pid ?? null;
    group = signal => {
      if (pid === null) return;
      try {
        process.kill(-pid, signal);
      } catch (error) {
        if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
      }
    };
    if (pid !== null) await writeFile(join(directory, 'leader'), JSON.stringify({ pid, startTime: startTimeOf(pid) }));
    io.signal?.addEventListener('abort', cancel, { once: true });
    if (io.signal?.aborted) cancel();
    if (killed) group('SIGKILL'); // while there was nothing to kill yet
    timers.push(setTimeout(() => stop('timeout', limits.graceMs), limits.timeMs));
    const usage: Usage = { cpuMs: 0, maxMemoryBytes: 0 };
    const sampler = setInterval(() => pid !== null && sample(pid, usage), 20);
    const disk = setInterval(
      () => void overDisk(outs, limits.diskBytes).then(over => over && stop('disk-limit', 0)),
      200,
    );
    timers.push(sampler, disk);
    try {
      const { code, signal } = await exited;
      const durationMs = Math.round(performance.now() - begun);
      group('SIGKILL');
      // What left the group may hold the pipes: it is not waited for.
      const patience = new AbortController();
      await Promise.race([output.done, sleep(250, null, { signal: patience.signal }).catch(() => null)]); // aborted when the output was first
      patience.abort();
      for (const reader of Object.values(readers)) reader.destroy();
      const streams = await output.done;
      const end = await judge(code, signal, reason, () => overDisk(outs, limits.diskBytes));
      return { end, streams, durationMs, usage };
    } finally {
      for (const timer of timers) clearTimeout(timer);
      io.signal?.removeEventListener('abort', cancel);
    }
  };
  return {
    finished: work(),
    kill: () => {
      killed = true;
      group('SIGKILL');
    },
  };
}

const nothing = () => ({ text: Buffer.alloc(0), bytes: 0, truncated: false });

async function judge(
  code: number | null,
  signal: string | null,
  reason: LimitEnd | null,
  diskFull: () => Promise<boolean>,
): Promise<End> {
  if (reason !== null) return { kind: reason };
  if (signal === 'SIGXFSZ' || (code !== 0 && (await diskFull()))) return { kind: 'disk-limit' };
  if (code !== null) return { kind: 'exited', code };
  return { kind: 'signaled', signal: signal !== null && signal in constants.signals ? signal : 'SIGKILL' };
}

/**
 * FIFOs, because Node's own pipes are sockets, which a program cannot reopen by name. Input that is known beforehand is
 * a file: a FIFO whose writer is done would make whoever reopens it wait for another.
 */
async function makeStreams(directory: string, stdin: RunIo['stdin']) {
  const path = (name: string) => join(directory, name);
  const piped = stdin instanceof Readable;
  await call('mkfifo', ['-m', '600', path('stdout'), path('stderr'), ...(piped ? [path('stdin')] : [])]);
  if (!piped) await writeFile(path('stdin'), stdin ?? '', { mode: 0o600 });
  // Opened for both, so that the program's end does not wait for ours.
  const holder = piped ? openSync(path('stdin'), fs.O_RDWR) : null;
  const own = {
    stdin: piped ? openSync(path('stdin'), fs.O_WRONLY | fs.O_NONBLOCK) : null,
    stdout: openSync(path('stdout'), fs.O_RDONLY | fs.O_NONBLOCK),
    stderr: openSync(path('stderr'), fs.O_RDONLY | fs.O_NONBLOCK),
  };
  const child = [
    openSync(path('stdin'), fs.O_RDONLY),
    openSync(path('stdout'), fs.O_WRONLY),
    openSync(path('stderr'), fs.O_WRONLY),
  ];
  if (holder !== null) closeSync(holder);
  return { own, child };
}

/** What can be seen of the leader while it lives; its children are not counted. */
function sample(pid: number, usage: Usage): void {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    usage.maxMemoryBytes = Math.max(usage.maxMemoryBytes, Number(/^VmHWM:\s*(\d+)/m.exec(status)?.[1] ?? 0) * 1024);
    usage.cpuMs = Math.max(usage.cpuMs, (Number(fields[11]) + Number(fields[12])) * 10);
  } catch {
    // Ended meanwhile, or no /proc here: the last sample stands.
  }
}

async function killRecorded(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return;
  const { pid, startTime } = JSON.parse(text) as { pid: number; startTime: number };
  if (startTimeOf(pid) === startTime) process.kill(-pid, 'SIGKILL');
}
