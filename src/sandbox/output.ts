import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Captured, RunIo, StreamName } from './sandbox.ts';

/** Reads both streams in the order they come, in bounded memory, and stops delivering at the limit. */
export function pumpOutput(
  streams: Record<StreamName, Readable>,
  io: RunIo,
  limitBytes: number,
  onLimit: () => void,
): { done: Promise<Record<StreamName, Captured>> } {
  const kept: Record<StreamName, { chunks: Buffer[]; length: number; bytes: number }> = {
    stdout: { chunks: [], length: 0, bytes: 0 },
    stderr: { chunks: [], length: 0, bytes: 0 },
  };
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
    const keep = Math.min(wanted.length, io.keepBytes - store.length);
    if (keep > 0) {
      // A copy: the chunk is a slice of a larger buffer that would stay in memory with it.
      store.chunks.push(Buffer.from(wanted.subarray(0, keep)));
      store.length += keep;
    }
    if (io.onChunk === null || failure !== null) return;
    const pending = io.onChunk(name, wanted);
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

  const ended = (name: StreamName) =>
    new Promise<void>(resolve => {
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
    const { chunks, length, bytes } = kept[name];
    return { text: Buffer.concat(chunks, length), bytes, truncated: bytes > length };
  };
  const done = Promise.all([ended('stdout'), ended('stderr')]).then(() => {
    if (failure !== null) throw failure;
    return { stdout: capture('stdout'), stderr: capture('stderr') };
  });
  return { done };
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

/** Only for a run that starts: a socket reads, and keeps the process alive, from the moment it is made. */
export function readersOf({ stdout, stderr }: Omit<Pipes, 'stdin'>): Record<StreamName, Readable> {
  const reader = (fd: number) => new Socket({ fd, readable: true, writable: false });
  return { stdout: reader(stdout), stderr: reader(stderr) };
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
