import type { ChildProcess } from 'node:child_process';
import { readSync } from 'node:fs';
import { errnoOf } from '../base/index.ts';

/** A program that runs beside this process, and what it says. */
export type Started = {
  /** Waits until there is something, and says how many bytes; 0 when there is nothing more, or not in time. */
  read(into: Buffer, at: number, deadline: number): number;
  /** Ends the program, if it has not ended. */
  close(): void;
};

const WAIT_MS = 0.5;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Starts a program without arguments, input or environment in this directory; null where that cannot be done. A scan is one
 * long call, in which Node delivers nothing; so the output is read from the pipe itself.
 */
export function startProgram(program: string, directory: string): Started | null {
  // Loaded now: most scans are small.
  const { spawn } = process.getBuiltinModule('node:child_process');
  try {
    const child = spawn(program, [], { cwd: directory, env: {}, stdio: ['ignore', 'pipe', 'ignore'] });
    child.on('error', () => {}); // it did not start: there is no output
    child.stdout.on('error', () => {});
    child.unref();
    unrefOutput(child);
    return { read: (into, at, deadline) => readOutput(child, into, at, deadline), close: () => endProgram(child) };
  } catch {
    return null;
  }
}

type Pipe = { fd?: number; unref?(): void };

/** Node has no public way to the pipe. Where this one is gone one day, there is no output, and the scan looks itself. */
function pipeOf({ stdout }: ChildProcess): Pipe | null {
  return (stdout as unknown as { _handle?: Pipe | null } | null)?._handle ?? null;
}

function unrefOutput(child: ChildProcess): void {
  pipeOf(child)?.unref?.();
}

function readOutput(child: ChildProcess, into: Buffer, at: number, deadline: number): number {
  // What Node has read of it, if it had an occasion to.
  const waiting = child.stdout?.readableLength ?? 0;
  if (waiting > 0) {
    const part = child.stdout?.read(Math.min(waiting, into.length - at)) as Buffer | null;
    if (part !== null) return part.copy(into, at);
  }
  for (;;) {
    const fd = pipeOf(child)?.fd ?? -1;
    if (fd < 0 || child.pid === undefined) return 0;
    try {
      return readSync(fd, into, at, into.length - at, null);
    } catch (cause) {
      if (errnoOf(cause) !== 'EAGAIN' || Date.now() > deadline) return 0;
    }
    Atomics.wait(sleeper, 0, 0, WAIT_MS);
  }
}

function endProgram(child: ChildProcess): void {
  child.stdout?.destroy();
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
}
