import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../base/index.ts';
import { interrupted } from './interrupted.ts';

const PIECE_BYTES = 64 * 1024;
const PAUSE_MS = 10;

/**
 * A file that the user named; null when it holds more. Bounded while it is read: a pipe or a device need not have an end. Never waited
 * for in one system call, also where nobody writes: a signal would not be heard meanwhile.
 */
export async function readBounded(path: string, maxBytes: number, interrupt: AbortSignal): Promise<Buffer | null> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFIFO()) {
    const { Socket } = await import('node:net');
    // Reads once there is a writer, and ends with the last one.
    return readStream(new Socket({ fd, readable: true, writable: false }), maxBytes, interrupt);
  }
  try {
    return await readAll(fd, maxBytes, interrupt);
  } finally {
    closeSync(fd);
  }
}

/** The same of a stream, which is used up by it. */
export async function readStream(stream: Readable, maxBytes: number, interrupt: AbortSignal): Promise<Buffer | null> {
  const stop = () => void stream.destroy(interrupted());
  interrupt.addEventListener('abort', stop, { once: true });
  try {
    if (interrupt.aborted) stop();
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of stream as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) return null;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    interrupt.removeEventListener('abort', stop);
  }
}

async function readAll(fd: number, maxBytes: number, interrupt: AbortSignal): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  for (let bytes = 0; bytes <= maxBytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, maxBytes + 1 - bytes));
    const read = await readSome(fd, piece, interrupt);
    if (read === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, read));
    bytes += read;
  }
  return null;
}

async function readSome(fd: number, buffer: Buffer, interrupt: AbortSignal): Promise<number> {
  for (;;) {
    if (interrupt.aborted) throw interrupted();
    try {
      return readSync(fd, buffer, 0, buffer.length, null);
    } catch (error) {
      // A terminal, on which nothing was typed yet.
      if (errnoOf(error) !== 'EAGAIN') throw error;
    }
    await sleep(PAUSE_MS, undefined, { signal: interrupt }).catch(() => undefined);
  }
}
