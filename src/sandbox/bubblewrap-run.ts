import { closeSync } from 'node:fs';
import { monotonicMs, SkillboxError } from '../base/index.ts';
import type { Cgroup } from './cgroup.ts';
import type { Launcher } from './launcher.ts';
import { feedStdin, type Pump, pumpOutput, readersOf } from './output.ts';
import { endOf } from './report.ts';
import type { Captured, End, LimitEnd, Limits, RunIo, StreamName, Usage } from './sandbox.ts';

const WATCH_MS = 50;
const START_MS = 20_000;

/** What a run's resources say when asked, during it and after it. */
export type Meters = {
  cgroup: Cgroup | null;
  /** True when the disk limit is passed or, for a capped file system, reached. */
  diskFull: () => Promise<boolean>;
  /** True when a full disk ends the run at once, because nothing else would stop it. */
  diskKills: boolean;
  /** Looks for planted files; called now and then. */
  tick: () => Promise<void>;
};

export type Finished = { end: End; streams: Record<StreamName, Captured>; durationMs: number; usage: Usage };

/** From `ready`, or from a spare that waits, to the last process's death: limits, cancel, output. Whatever happens, nothing is left running. */
export async function carryOut(
  launcher: Launcher,
  begin: () => void,
  limits: Limits,
  io: RunIo,
  meters: Meters,
): Promise<Finished> {
  const { report } = launcher;
  const timers: NodeJS.Timeout[] = [];
  let reason: LimitEnd | null = null;
  const begun = monotonicMs();
  let ended = begun;

  const stop = (why: LimitEnd, graceMs: number) => {
    if (reason !== null) return;
    reason = why;
    if (graceMs === 0 || !report.started) launcher.kill();
    else {
      launcher.terminate();
      timers.push(setTimeout(() => launcher.kill(), graceMs));
    }
  };
  const cancel = () => stop('canceled', limits.graceMs);

  const pipes = launcher.takePipes();
  let pumped: Pump | null = null;
  /** Made when the program has started: its pipes hold what it says meanwhile, and nothing keeps it from starting. */
  const output = () => {
    pumped ??= pumpOutput(readersOf(pipes), io, limits.outputBytes, () => stop('output-limit', 0));
    return pumped;
  };
  // What is left then is our own PID 1 and bwrap, on their way out: `dispose` waits for them, the result need not.
  const over = new Promise<void>(resolve => {
    launcher.onEnded(() => {
      if (output().drain(pipes)) resolve();
    });
    void launcher.gone.then(resolve);
  }).then(() => {
    ended = monotonicMs();
  });
  launcher.onLimit(() => {
    // PID 1 has killed them already; only the reason is still to be kept from being overtaken.
    reason ??= report.limit === 'memory' ? 'out-of-memory' : 'pids-limit';
  });
  const startTimer = setTimeout(() => {
    report.error ??= `it took longer than ${START_MS} ms`;
    launcher.kill();
  }, START_MS);
  timers.push(startTimer);
  launcher.onStarted(() => {
    clearTimeout(startTimer);
    timers.push(setTimeout(() => stop('timeout', limits.graceMs), limits.timeMs));
    output();
    void feedStdin(pipes.stdin, io.stdin); // a source that never ends must not keep a finished run
    timers.push(watch(meters, stop));
  });
  io.signal?.addEventListener('abort', cancel, { once: true });
  if (io.signal?.aborted) cancel();
  begin();

  try {
    await over;
    const streams = await output().done;
    const stats = meters.cgroup?.stats() ?? null;
    const oom = (stats?.oomKills ?? 0) > 0;
    const pidsRefused = (stats?.pidsRefused ?? 0) > 0;
    const end = await endOf(report, reason, { oom, pidsRefused, diskFull: meters.diskFull });
    if (end === null) throw notStarted(report.error, streams.stderr);
    const usage = {
      cpuMs: Math.round(stats?.cpuMs ?? report.cpuMs),
      maxMemoryBytes: stats?.peakBytes ?? report.maxMemoryBytes,
    };
    return { end, streams, durationMs: Math.round(ended - begun), usage };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    if (!report.started) closeSync(pipes.stdin);
    io.signal?.removeEventListener('abort', cancel);
    if (report.exited === null && report.signaled === null) launcher.kill();
  }
}

function watch(meters: Meters, stop: (why: LimitEnd, graceMs: number) => void): NodeJS.Timeout {
  let busy = false;
  let turn = 0;
  const look = async () => {
    const stats = meters.cgroup?.stats();
    if (stats !== undefined && stats.oomKills > 0) stop('out-of-memory', 0);
    else if (stats !== undefined && stats.pidsRefused > 0) stop('pids-limit', 0);
    if (++turn % 4 !== 0) return;
    if (meters.diskKills && (await meters.diskFull())) stop('disk-limit', 0);
    await meters.tick();
  };
  return setInterval(() => {
    if (busy) return;
    busy = true;
    // A watcher that fails must not pass for one that saw nothing: the run is stopped.
    look()
      .catch(() => stop('canceled', 0))
      .finally(() => {
        busy = false;
      });
  }, WATCH_MS);
}

const ID_MAP_HINT =
  'This file system cannot show files as those of the run (tmpfs can from Linux 6.3 on; NFS and FUSE cannot). Keep data and workspaces on ext4, xfs or btrfs, or run Skillbox as an ordinary user.';

function notStarted(error: string | null, stderr: Captured): SkillboxError {
  const said = stderr.text.toString('utf8').trim();
  return new SkillboxError(
    'SANDBOX_FAILED',
    `The sandbox did not start: ${error ?? (said === '' ? 'no reason was given' : said)}.`,
    {
      ...(error?.startsWith('id-map ') ? { hint: ID_MAP_HINT } : {}),
      details: { helper: error, bwrap: said },
    },
  );
}
