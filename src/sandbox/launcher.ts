import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { encodeFrame, type Token } from './helper.ts';
import type { Keeper } from './keeper.ts';
import { onLines } from './lines.ts';
import { closePipes, openPipes, type Pipes } from './output.ts';
import { newReport, type Report, readReport } from './report.ts';

/** So long PID 1 has to go when it has told how its program ended. */
const LEAVE_MS = 1000;

/** The report, and PID 1 of the sandbox as the host counts. */
export type LauncherReport = Report & { initPid: number | null };

export type Launcher = {
  /** Once: they are then the caller's to close. */
  takePipes(): Pipes;
  ended(): boolean;
  /** While idle it does not keep the process alive. */
  idle(yes: boolean): void;
  report: LauncherReport;
  send(tokens: readonly Token[]): void;
  /** To a sandbox that was told to park: its run, as the helper's await_run reads it. */
  go(run: Buffer): void;
  /** When it is in the cgroups of its run; throws when it cannot be. */
  joined(): Promise<void>;
  /** A parked program is up; false when it ended before. */
  parked: Promise<boolean>;
  terminate(): void;
  kill(): void;
  /** When nothing of it is left. PID 1 of a run that has ended goes by itself, and is killed only where it does not. */
  end(): Promise<void>;
  onStarted(call: () => void): void;
  onLimit(call: () => void): void;
  /** PID 1 has reaped every other process of the run, and told how the program ended. */
  onEnded(call: () => void): void;
  /** bwrap is gone, and with it every process of the run; or the launcher failed before. */
  gone: Promise<void>;
};

/** A launcher of the keeper's: it takes what `first` finds out, makes the pipes, joins the cgroups, and waits. */
export async function startLauncher(keeper: Keeper, first: () => Promise<readonly Token[]>): Promise<Launcher> {
  const { launcher } = await startLauncherWhile(keeper, first, async () => {});
  await launcher.joined();
  return launcher;
}

/** One that may be on its way into the cgroups still, for which the kernel takes its time. `meanwhile` is done as it starts. */
export async function startLauncherWhile<T>(
  keeper: Keeper,
  first: () => Promise<readonly Token[]>,
  meanwhile: () => Promise<T>,
): Promise<{ launcher: Launcher; done: T }> {
  const [control, frame] = await bothOrNeither(keeper.connect(), first());
  const report: LauncherReport = { ...newReport(), initPid: null };
  let pid: number | null = null;
  let started = () => {};
  let limited = () => {};
  let finished = () => {};

  let released = false;
  let killing = false;
  let over = false;

  // The other end is held by the launcher, which becomes bwrap, and by PID 1: it closes with the last of them.
  const gone = new Promise<void>(resolve => {
    const end = () => {
      over = true;
      resolve();
    };
    if (control.closed) end();
    else control.once('close', end);
  });
  control.on('error', () => control.destroy()); // a reset is the helper's end, told by `gone`

  const kill = () => {
    killing = true;
    report.killed = true;
    if (over) return;
    // Nothing but the launcher exists yet, which ends itself when it reads end-of-file; or PID 1 is on its way: it reads
    // the same, and is killed when its number is known.
    if (!released || report.initPid === null) control.end();
    else killInit(pid, report.initPid);
  };

  let isParked = () => {};
  const parked = Promise.race([
    new Promise<boolean>(resolve => {
      isParked = () => resolve(true);
    }),
    gone.then(() => false),
  ]);
  let isJoined = () => {};
  const joined = new Promise<void>(resolve => {
    isJoined = resolve;
  });
  const ready = new Promise<void>(resolve => {
    onLines(control, line => {
      if (line.startsWith('ready ')) {
        pid = Number(line.slice(6));
        resolve();
      }
      readReport(line, report);
      report.initPid ??= childPid(line);
      if (killing && report.initPid !== null) kill();
      if (line === 'joined') isJoined();
      if (line === 'parked') isParked();
      if (line === 'started') started();
      if (line.startsWith('limit ')) limited();
      if (report.exited !== null || report.signaled !== null) finished();
    });
  });
  control.write(encodeFrame(frame));
  const done = await meanwhile().catch(async (error: unknown) => {
    kill();
    await gone;
    throw error;
  });
  const fault = async () =>
    new SkillboxError(
      'SANDBOX_FAILED',
      (report.error === null ? await keeper.problem() : null) ??
        `The sandbox could not be prepared: ${report.error ?? 'the helper ended'}.`,
    );
  await Promise.race([ready, gone]);
  if (report.error !== null || over || pid === null) throw await fault();

  let pipes: Pipes | null = openOrEnd(pid, control);
  void gone.then(() => {
    if (pipes !== null) closePipes(pipes);
    pipes = null;
  });
  const launcher: Launcher = {
    takePipes() {
      if (pipes === null) throw new SkillboxError('SANDBOX_FAILED', 'The sandbox ended before its run began.');
      const taken = pipes;
      pipes = null;
      return taken;
    },
    ended: () => over,
    idle(yes) {
      if (yes) control.unref();
      else control.ref();
    },
    report,
    send: tokens => {
      if (killing) return;
      released = true;
      control.write(encodeFrame(tokens));
    },
    go: run => {
      if (killing) return;
      const head = Buffer.alloc(5, 'G');
      head.writeUInt32LE(run.length, 1);
      control.write(Buffer.concat([head, run]));
    },
    async joined() {
      await Promise.race([joined, gone]);
      if (report.error !== null || over) throw await fault();
    },
    parked,
    terminate: () => void (killing || control.write('T')),
    kill,
    async end() {
      const isTold = report.exited !== null || report.signaled !== null;
      const timer = isTold ? setTimeout(kill, LEAVE_MS).unref() : null;
      if (timer === null) kill();
      else control.end(); // it may stay for a moment otherwise, so that the result comes first
      await gone;
      if (timer !== null) clearTimeout(timer);
    },
    onStarted: call => {
      started = call;
    },
    onLimit: call => {
      limited = call;
    },
    onEnded: call => {
      finished = call;
    },
    gone,
  };
  return { launcher, done };
}

/** A launcher whose pipes cannot be had (they are those of another uid) is ended: left waiting, it would keep us from ending. */
function openOrEnd(pid: number, control: Socket): Pipes {
  try {
    return openPipes(pid);
  } catch (cause) {
    control.destroy();
    throw new SkillboxError(
      'SANDBOX_FAILED',
      `The pipes of the sandbox cannot be opened: ${errnoOf(cause) ?? String(cause)}.`,
      { hint: 'Root without CAP_SYS_PTRACE cannot; give it that, or run Skillbox as an ordinary user.', cause },
    );
  }
}

/** A channel without its frame is closed, so that its launcher ends. */
async function bothOrNeither<T>(channel: Promise<Socket>, frame: Promise<T>): Promise<[Socket, T]> {
  try {
    return await Promise.all([channel, frame]);
  } catch (error) {
    await channel.then(
      socket => socket.destroy(),
      () => undefined,
    );
    throw error;
  }
}

/** bwrap's own line. */
function childPid(line: string): number | null {
  const found = /^\{.*"child-pid":\s*(\d+)/.exec(line)?.[1];
  return found === undefined ? null : Number(found);
}

/** The kernel then kills the whole namespace, and bwrap returns only when that is done. */
function killInit(bwrap: number | null, initPid: number): void {
  if (parentOf(initPid) !== bwrap) return; // reaped: bwrap is about to return
  try {
    process.kill(initPid, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}

/** A number may have been given to another process by now. */
function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN);
  } catch {
    return null; // gone
  }
}
