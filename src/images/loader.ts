import { closeSync, constants, openSync, readSync } from 'node:fs';
import { fileAt } from './program.ts';

const HEAD_BYTES = 4096;
const MAX_HEADERS = 128;
const MAX_PATH = 4096;
/** As deep as the kernel follows one script to the next. */
const MAX_SCRIPTS = 5;
const PT_INTERP = 3;

/**
 * What the kernel wants beside a program of an image to start it, and does not find there: the dynamic loader of a binary, the
 * interpreter of a script. It then says that the program itself is not there. Null when nothing is missing, and for what
 * cannot be read: then the start tells.
 */
export function missingFor(root: string, program: string): string | null {
  let path = program;
  for (let depth = 0; depth < MAX_SCRIPTS; depth++) {
    const file = fileAt(root, path);
    if (file === null) return depth === 0 ? null : path;
    const wanted = wantedBy(file.at);
    if (wanted === null || !wanted.startsWith('/')) return null;
    path = wanted;
  }
  return null;
}

function wantedBy(at: string): string | null {
  let file: number;
  try {
    file = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null; // removed meanwhile: the start tells
  }
  try {
    const head = readAt(file, 0, HEAD_BYTES);
    return head.subarray(0, 2).toString('latin1') === '#!' ? interpreterOf(head) : loaderOf(file, head);
  } catch {
    return null; // a damaged binary: the start tells
  } finally {
    closeSync(file);
  }
}

function interpreterOf(head: Buffer): string | null {
  const [line = ''] = head.subarray(2).toString('utf8').split('\n', 1);
  return /^[ \t]*([^ \t\0]+)/.exec(line)?.[1] ?? null;
}

/** The binaries of this machine are little-endian; what is not would not start here. */
function loaderOf(file: number, head: Buffer): string | null {
  if (head.subarray(0, 4).toString('latin1') !== '\x7fELF' || head[5] !== 1) return null;
  const isWide = head[4] === 2;
  const wide = (bytes: Buffer, at: number) => Number(bytes.readBigUInt64LE(at));
  const from = isWide ? wide(head, 32) : head.readUInt32LE(28);
  const size = head.readUInt16LE(isWide ? 54 : 42);
  const count = Math.min(head.readUInt16LE(isWide ? 56 : 44), MAX_HEADERS);
  const headers = readAt(file, from, size * count);
  for (let at = 0; at < size * count; at += size) {
    if (headers.readUInt32LE(at) !== PT_INTERP) continue;
    const [offset, bytes] = isWide
      ? [wide(headers, at + 8), wide(headers, at + 32)]
      : [headers.readUInt32LE(at + 4), headers.readUInt32LE(at + 16)];
    const [path = ''] = readAt(file, offset, Math.min(bytes, MAX_PATH)).toString('utf8').split('\0', 1);
    return path === '' ? null : path;
  }
  return null;
}

function readAt(file: number, from: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, from));
}
