import { execFile, spawn } from 'node:child_process';
import { closeSync, constants as fs, openSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { overDisk } from './disk.ts';
import { feedStdin, pumpOutput, readersOf } from './output.ts';
import { startTimeOf } from './owner.ts';
import type { End, LimitEnd, RunIo, RunSpec, Usage } from './sandbox.ts';

const call = promisify(execFile);

type Started = {
  spec: RunSpec;
  io: RunIo;
  directory: string;
  outs: string[];
  argv: string[];
  cwd: string;
  env: Record<string, string>;
};

/** From the start of the process to its end: limits, cancel, output. */
export function runProcess({ spec, io, directory, outs, argv, cwd, env }: Started) {
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
      () => void overDisk(outs, limits.diskBytes, pid).then(over => over && stop('disk-limit', 0)),
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
      const end = await judge(code, signal, reason, () => overDisk(outs, limits.diskBytes, null));
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

/** What a runtime that was killed left running, by the note beside it. */
export async function killRecorded(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return;
  const { pid, startTime } = JSON.parse(text) as { pid: number; startTime: number };
  if (startTimeOf(pid) === startTime) process.kill(-pid, 'SIGKILL');
}
