import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SkillboxError } from '../base/index.ts';
import { overDisk } from './disk.ts';
import { demultiplex, type Engine, EngineError, splitReport } from './docker-api.ts';
import { engineFault } from './docker-engine.ts';
import { type DockerFacts, planContained } from './docker-plan.ts';
import { guardWorkspaces } from './guard.ts';
import { encodeFrame } from './helper.ts';
import { pumpOutput } from './output.ts';
import { endOf, newReport, readReport } from './report.ts';
import type { End, LimitEnd, RunIo, RunSpec } from './sandbox.ts';

/** What an engine says of a PID 1 that SIGKILL ended. */
const KILLED = 128 + constants.signals.SIGKILL;

/** From the container's start to its end: limits, cancel, output. */
export async function carryOut(
  engine: Engine,
  container: string,
  spec: RunSpec,
  facts: DockerFacts,
  io: RunIo,
  wanted: { dead: boolean },
  quarantineTo: string,
) {
  const { limits } = spec;
  const timers: NodeJS.Timeout[] = [];
  const begun = performance.now();
  let reason: LimitEnd | null = null;
  const send = (name: 'SIGTERM' | 'SIGKILL') => void signal(engine, container, name).catch(() => undefined); // gone is what was wanted
  const stop = (why: LimitEnd, graceMs: number) => {
    if (reason !== null) return;
    reason = why;
    send(graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
    if (graceMs > 0) timers.push(setTimeout(() => send('SIGKILL'), graceMs));
  };
  const cancel = () => stop('canceled', limits.graceMs);
  const outs = spec.mounts.filter(mount => mount.kind === 'out').map(mount => facts.files.get(mount.at) ?? '');
  const guard = await guardWorkspaces(spec, facts.protections, quarantineTo);

  if (io.signal?.aborted) {
    const none = { text: Buffer.alloc(0), bytes: 0, truncated: false };
    return {
      end: { kind: 'canceled' } as End,
      stdout: none,
      stderr: none,
      durationMs: 0,
      usage: { cpuMs: 0, maxMemoryBytes: 0 },
      planted: [],
    };
  }
  const attach = (which: 'output' | 'input') =>
    engine.attach(container, which).catch((error: unknown) => {
      throw engineFault('The container did not start', error);
    });
  const socket = await attach('output');
  const input = await attach('input').catch((error: unknown) => {
    socket.destroy();
    throw error;
  });
  input.on('error', () => undefined).resume(); // a program need not read its input
  const raw = demultiplex(socket);
  let leader: Promise<number | null> | null = null;
  const { stderr, report } = splitReport(raw.stderr, facts.nonce);
  const output = pumpOutput({ stdout: raw.stdout, stderr }, io, limits.outputBytes, () => stop('output-limit', 0));
  try {
    const waited = engine.call<{ StatusCode: number }>('POST', `/containers/${container}/wait?condition=next-exit`);
    await engine.call('POST', `/containers/${container}/start`).catch((error: unknown) => {
      waited.catch(() => undefined); // it will never come
      throw engineFault('The container did not start', error);
    });
    input.write(encodeFrame(planContained(spec, facts)));
    void feed(input, io.stdin);
    io.signal?.addEventListener('abort', cancel, { once: true });
    if (io.signal?.aborted) cancel();
    if (wanted.dead) send('SIGKILL'); // the engine knew of nothing to kill before
    timers.push(
      setTimeout(() => stop('timeout', limits.graceMs), limits.timeMs),
      setInterval(() => {
        // A watcher that fails must not pass for one that saw nothing.
        leader ??= leaderOf(engine, container);
        leader
          .then(pid => overDisk(outs, limits.diskBytes, pid))
          .then(
            over => over && stop('disk-limit', 0),
            () => stop('canceled', 0),
          );
        guard.during().catch(() => stop('canceled', 0));
      }, 200),
    );
    const { StatusCode: status } = await waited;
    const durationMs = Math.round(performance.now() - begun);
    const streams = await output.done;
    await guard.after();
    const inspected = await engine.call<{ State: { OOMKilled: boolean } }>('GET', `/containers/${container}/json`);
    const told = newReport();
    // Whoever killed PID 1 killed everything inside; the helper itself never ends with that status.
    told.killed = wanted.dead || status === KILLED;
    for (const line of report().split('\n')) readReport(line, told);
    const diskFull = () => overDisk(outs, limits.diskBytes, null);
    const end = await endOf(told, reason, { oom: inspected.State.OOMKilled, pidsRefused: false, diskFull });
    if (end === null) throw helperFault(told.error);
    return {
      end,
      ...streams,
      durationMs,
      usage: { cpuMs: Math.round(told.cpuMs), maxMemoryBytes: told.maxMemoryBytes },
      planted: guard.planted,
    };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    io.signal?.removeEventListener('abort', cancel);
    input.destroy();
    socket.destroy();
  }
}

function helperFault(said: string | null): SkillboxError {
  const [, swapped] =
    /^(?:mount|protect|open) (\S+): (?:Stale file handle|Too many levels of symbolic links)$/.exec(said ?? '') ?? [];
  if (swapped === undefined)
    return new SkillboxError('SANDBOX_FAILED', `The container's helper failed: ${said ?? 'it said nothing'}.`);
  return new SkillboxError(
    'SANDBOX_FAILED',
    `What the engine mounted at ${swapped} is not what was judged: it was replaced before the run started.`,
    {
      hint: 'Something else writes to the workspace; try again. Under runsc, which numbers files anew, use bubblewrap.',
    },
  );
}

/** The program's input follows the frame on the same connection; its end is half of that. */
async function feed(socket: Socket, stdin: RunIo['stdin']): Promise<void> {
  try {
    if (stdin instanceof Readable) await pipeline(stdin, socket, { end: false });
    else if (stdin !== null) socket.write(stdin);
    socket.end();
  } catch {
    socket.end(); // a program need not read its input
  }
}

/** 409: not running (any more), which Podman says in words. 404: removed. */
function isOver({ status, message }: EngineError): boolean {
  return status === 409 || status === 404 || (status === 500 && message.includes('container state improper'));
}

export async function signal(engine: Engine, container: string, name: string): Promise<void> {
  try {
    await engine.call('POST', `/containers/${container}/kill?signal=${name}`);
  } catch (error) {
    if (!(error instanceof EngineError && isOver(error))) throw error;
  }
}

/** Its PID 1 as this machine counts; null where the engine counts otherwise. */
async function leaderOf(engine: Engine, container: string): Promise<number | null> {
  const { State } = await engine.call<{ State: { Pid: number } }>('GET', `/containers/${container}/json`);
  const cgroups = await readFile(`/proc/${State.Pid}/cgroup`, 'utf8').catch(() => ''); // ended, or another machine's
  return cgroups.includes(container) ? State.Pid : null;
}
