import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program that runs beside this process, and what it says in each of its two files. */
export type Started = {
  /** Waits until there is something, and says how many bytes; 0 when there is nothing more, or not in time. */
  read(file: 0 | 1, offset: number, into: Buffer, deadline: number): number;
  /** Ends the program, if it has not ended. */
  close(): void;
};

/** To ask in vain takes the processor from the program. */
const WAIT_MS = 1;
/** In memory where that can be: to keep such files in order on a disk is felt in a large scan. */
const PLACES: readonly string[] = ['/dev/shm', tmpdir()];
/** Nobody could guess it. */
const newName = () => `skillbox-scan-${process.pid}-${process.hrtime.bigint()}`;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Starts a program without arguments, input or environment in this directory; null where that cannot be done. It writes to its
 * standard output and to descriptor 3. A scan is one long call, in which Node delivers nothing; so these are files, which
 * can be read at any time, and which have no name that anybody could find.
 */
export function startProgram(program: string, directory: string, places = PLACES, name = newName): Started | null {
  const files: number[] = [];
  try {
    files.push(openNameless(places, name), openNameless(places, name));
    const [first = -1, second = -1] = files;
    // Loaded now: most scans are small.
    const { spawn } = process.getBuiltinModule('node:child_process');
    const child = spawn(program, [], { cwd: directory, env: {}, stdio: ['ignore', first, 'ignore', second] });
    child.on('error', () => {}); // it did not start: there is no output
    child.unref();
    return {
      read: (which, offset, into, deadline) => readOutput(child, files[which], offset, into, deadline),
      close() {
        for (const file of files.splice(0)) closeSync(file);
        if (!hasEnded(child)) child.kill('SIGKILL');
      },
    };
  } catch {
    for (const file of files) closeSync(file);
    return null;
  }
}

/** In the first of these places that allows it. */
function openNameless([place = '/', ...others]: readonly string[], name: () => string): number {
  const path = join(place, name());
  try {
    // What somebody put there is neither read nor written, whatever it leads to.
    const file = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return file;
  } catch (cause) {
    if (others.length === 0) throw cause;
    return openNameless(others, name);
  }
}

function readOutput(
  child: ChildProcess,
  file: number | undefined,
  offset: number,
  into: Buffer,
  deadline: number,
): number {
  for (let over = false; file !== undefined; ) {
    const length = readSync(file, into, 0, into.length, offset);
    if (length > 0 || over) return length;
    // Once more after its end: what it wrote before that is there.
    over = hasEnded(child) || Date.now() > deadline;
    if (!over) Atomics.wait(sleeper, 0, 0, WAIT_MS);
  }
  return 0;
}

/** Node hears of it only when this scan is over; the system knows it at once. */
function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (pid === undefined || exitCode !== null || signalCode !== null) return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /[ZX]/.test(stat.charAt(stat.lastIndexOf(')') + 2));
  } catch {
    return true;
  }
}
