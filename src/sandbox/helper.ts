import { findOwnProgram } from '../base/index.ts';

/** The static helper built for this machine, or null. */
export function findHelper(): string | null {
  return findOwnProgram('skillbox-helper');
}

export type Token = string | number | Buffer;

/** One frame of the helper's protocol: a length, and tokens of length, bytes and NUL. */
export function encodeFrame(tokens: readonly Token[]): Buffer {
  const parts: Buffer[] = [];
  for (const token of tokens) {
    const bytes = Buffer.isBuffer(token) ? token : Buffer.from(String(token));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    parts.push(length, bytes, NUL);
  }
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([length, body]);
}

const NUL = Buffer.from([0]);
