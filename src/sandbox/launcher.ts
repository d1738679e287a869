import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { encodeFrame, type Token } from './helper.ts';
import { closePipes, openPipes, type Pipes } from './output.ts';
import { newReport, type Report, readReport } from './report.ts';

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
  /** A parked program is up; false when it ended before. */
  parked: Promise<boolean>;
  terminate(): void;
  kill(): void;
  onStarted(call: () => void): void;
  onLimit(call: () => void): void;
  /** PID 1 has reaped every other process of the run, and told how the program ended. */
  onEnded(call: () => void): void;
  /** bwrap is gone, and with it every process of the run; or the launcher failed before. */
  gone: Promise<void>;
};

/**
 * Starts the helper's `launch`, which takes what `first` finds out meanwhile, joins the cgroups, makes the pipes, and waits. It dies with the thread that
 * called this, so call it from a thread that lives as long as the run.
 */
export async function startLauncher(helper: string, first: () => Promise<readonly Token[]>): Promise<Launcher> {
  // An empty environment: bwrap's own is /proc/1/environ of the sandbox, whatever --clearenv does for the program.
  const child = spawn(helper, ['launch'], { env: {}, cwd: '/', stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const control = child.stdio[3] as Socket;
  const report: LauncherReport = { ...newReport(), initPid: null };
  let started = () => {};
  let limited = () => {};
  let finished = () => {};

  let released = false;
  let killing = false;

  const gone = Promise.all([
    new Promise<void>(resolve => {
      child.once('exit', () => {
        // Were bwrap killed before its child asked to die with it, that child would still read end-of-file here.
        control.end();
        resolve();
      });
      child.once('error', error => {
        report.error = `cannot start ${helper}: ${error.message}`;
        control.destroy();
        resolve();
      });
    }),
    new Promise<void>(resolve => control.once('close', () => resolve())),
  ]).then(() => undefined);
  control.on('error', () => control.destroy()); // a reset is the helper's end, told by `gone`

  const kill = () => {
    killing = true;
    report.killed = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (!released)
      child.kill('SIGKILL'); // nothing but the launcher exists yet
    else if (report.initPid !== null) killInit(child, report.initPid);
    else control.end(); // PID 1 is on its way: it reads end-of-file, and is killed when its number is known
  };

  let isParked = () => {};
  const parked = Promise.race([
    new Promise<boolean>(resolve => {
      isParked = () => resolve(true);
    }),
    gone.then(() => false),
  ]);
  const ready = new Promise<void>(resolve => {
    onLines(control, line => {
      if (line === 'ready') resolve();
      readReport(line, report);
      report.initPid ??= childPid(line);
      if (killing && report.initPid !== null) kill();
      if (line === 'parked') isParked();
      if (line === 'started') started();
      if (line.startsWith('limit ')) limited();
      if (report.exited !== null || report.signaled !== null) finished();
    });
  });
  try {
    control.write(encodeFrame(await first()));
  } catch (error) {
    kill();
    throw error;
  }
  await Promise.race([ready, gone]);
  if (report.error !== null || child.exitCode !== null || child.pid === undefined)
    throw new SkillboxError(
      'SANDBOX_FAILED',
      `The sandbox could not be prepared: ${report.error ?? 'the helper ended'}.`,
    );

  let pipes: Pipes | null = openPipes(child.pid);
  void gone.then(() => {
    if (pipes !== null) closePipes(pipes);
    pipes = null;
  });
  return {
    takePipes() {
      if (pipes === null) throw new SkillboxError('SANDBOX_FAILED', 'The sandbox ended before its run began.');
      const taken = pipes;
      pipes = null;
      return taken;
    },
    ended: () => child.exitCode !== null || child.signalCode !== null,
    idle(yes) {
      for (const held of [child, control]) {
        if (yes) held.unref();
        else held.ref();
      }
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
    parked,
    terminate: () => void (killing || control.write('T')),
    kill,
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
}

/** bwrap's own line. */
function childPid(line: string): number | null {
  const found = /^\{.*"child-pid":\s*(\d+)/.exec(line)?.[1];
  return found === undefined ? null : Number(found);
}

/** Lines are short and few; one that grows without end is not ours. */
function onLines(socket: Socket, call: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > 4096) socket.destroy();
    for (const line of lines) call(line);
  });
}

/** The kernel then kills the whole namespace, and bwrap returns only when that is done. */
function killInit(child: ChildProcess, initPid: number): void {
  if (parentOf(initPid) !== child.pid) return; // reaped: bwrap is about to return
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
