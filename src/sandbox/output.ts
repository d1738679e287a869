import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errnoOf } from '../base/index.ts';
import type { Captured, RunIo, StreamName } from './sandbox.ts';

/** Read into, and taken from before anything else is read: one for all runs, so that a flood leaves nothing to collect. */
let shared: Buffer | null = null;
function scratch(): Buffer {
  shared ??= Buffer.allocUnsafeSlow(65_536);
  return shared;
}

/** Reads both streams in the order they come, in bounded memory, and stops delivering at the limit. */
export function pumpOutput(
  streams: Record<StreamName, Readable>,
  io: RunIo,
  limitBytes: number,
  onLimit: () => void,
): Pump {
  const kept: Record<StreamName, Kept> = { stdout: newKept(), stderr: newKept() };
  let total = 0;
  let failure: unknown = null;

  const take = (name: StreamName, chunk: Buffer) => {
    const room = limitBytes - total;
    total += chunk.length;
    if (total > limitBytes) onLimit();
    const wanted = room >= chunk.length ? chunk : chunk.subarray(0, Math.max(0, room));
    if (wanted.length === 0) return;
    const store = kept[name];
    store.bytes += wanted.length;
    keep(store, wanted.subarray(0, Math.max(0, io.keepBytes - store.length)));
    if (io.onChunk === null || failure !== null) return;
    const pending = io.onChunk(name, Buffer.from(wanted)); // its own: what it was read into is read into again
    if (pending === undefined) return;
    pause();
    pending.then(resume, (error: unknown) => {
      failure = error;
      resume();
    });
  };

  let paused = 0;
  const both = [streams.stdout, streams.stderr];
  const pause = () => {
    if (paused++ === 0) for (const stream of both) stream.pause();
  };
  const resume = () => {
    if (--paused === 0) for (const stream of both) stream.resume();
  };

  const over: Partial<Record<StreamName, () => void>> = {};
  const ended = (name: StreamName) =>
    new Promise<void>(resolve => {
      over[name] = resolve;
      const stream = streams[name];
      stream.on('data', (chunk: Buffer) => {
        try {
          take(name, chunk);
        } catch (error) {
          failure = error; // the caller's callback threw: told at the end, when the run is cleaned up
        }
      });
      stream.on('error', () => resolve()); // a broken pipe ends the stream like its end
      stream.on('close', () => resolve());
    });

  const capture = (name: StreamName): Captured => {
    const { buffer, length, bytes } = kept[name];
    return { text: buffer.subarray(0, length), bytes, truncated: bytes > length };
  };
  const done = Promise.all([ended('stdout'), ended('stderr')]).then(() => {
    if (failure !== null) throw failure;
    return { stdout: capture('stdout'), stderr: capture('stderr') };
  });
  done.catch(() => undefined); // whoever awaits it is told; until then it is nobody's unhandled rejection
  /** Between two events of the loop: nothing else reads meanwhile. */
  const drain = (pipes: Record<StreamName, number>): boolean => {
    if (paused > 0 || failure !== null) return false;
    const chunk = scratch();
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = streams[name];
      if (stream.destroyed) continue;
      if (stream.readableLength > 0) return false;
      for (let length = readNow(pipes[name], chunk); length > 0; length = readNow(pipes[name], chunk)) {
        stream.emit('data', chunk.subarray(0, length));
        if (paused > 0) return false;
      }
      stream.destroy();
      over[name]?.(); // its own word of that comes with the next turn of the loop
    }
    return true;
  };
  return { done, drain };
}

export type Pump = {
  done: Promise<Record<StreamName, Captured>>;
  /**
   * Every process that could write is dead: takes what lies in the pipes and does not wait for their end, which comes
   * only with bwrap's own. False when a reader holds it back; the end must then be waited for.
   */
  drain(pipes: Record<StreamName, number>): boolean;
};

/** That a pipe is empty is told by an exception; gathering its stack would take longer than the reading. */
function readNow(fd: number, chunk: Buffer): number {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return readSync(fd, chunk);
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN') return 0;
    throw error;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

type Kept = { buffer: Buffer; length: number; bytes: number };
const newKept = (): Kept => ({ buffer: Buffer.alloc(0), length: 0, bytes: 0 });

/** One buffer that doubles: a program that writes byte by byte must not cost an object for each. */
function keep(store: Kept, chunk: Buffer): void {
  const needed = store.length + chunk.length;
  if (needed > store.buffer.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, store.buffer.length * 2, 1024));
    store.buffer.copy(larger, 0, 0, store.length);
    store.buffer = larger;
  }
  chunk.copy(store.buffer, store.length);
  store.length = needed;
}

/** The runtime's ends of the pipes that the launcher made, opened through its /proc entry. */
export type Pipes = { stdin: number; stdout: number; stderr: number };

export function openPipes(pid: number): Pipes {
  const open = (fd: number, flags: number) => openSync(`/proc/${pid}/fd/${fd}`, flags | constants.O_NONBLOCK);
  return {
    stdin: open(21, constants.O_WRONLY),
    stdout: open(22, constants.O_RDONLY),
    stderr: open(24, constants.O_RDONLY),
  };
}

export function closePipes({ stdin, stdout, stderr }: Pipes): void {
  for (const fd of [stdin, stdout, stderr]) closeSync(fd);
}

/**
 * Only for a run that starts: a socket reads, and keeps the process alive, from the moment it is made. What a 'data'
 * event brings is good until its listener returns.
 */
export function readersOf({ stdout, stderr }: Omit<Pipes, 'stdin'>): Record<StreamName, Readable> {
  return { stdout: readerOf(stdout), stderr: readerOf(stderr) };
}

function readerOf(fd: number): Readable {
  const callback = (length: number, chunk: Uint8Array) => reader.emit('data', (chunk as Buffer).subarray(0, length));
  const reader: Socket = new Socket({ fd, readable: true, writable: false, onread: { buffer: scratch(), callback } });
  return reader;
}

export async function feedStdin(fd: number, stdin: RunIo['stdin']): Promise<void> {
  if (stdin === null) {
    closeSync(fd);
    return;
  }
  const target = new Socket({ fd, readable: false, writable: true });
  const source = stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]);
  try {
    await pipeline(source, target);
  } catch {
    target.destroy(); // a program need not read its input; that it closed the pipe is no fault
  }
}
