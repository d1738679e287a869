import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From src/sandbox, from dist/lib/sandbox, and from a bundle in dist/cli. */
const PLACES = ['../../dist/helper/', '../../helper/', '../helper/'];

/** The static helper built for this machine, or null. It is looked up beside our own code, never on PATH. */
export function findHelper(): string | null {
  for (const place of PLACES) {
    const path = fileURLToPath(new URL(`${place}skillbox-helper-${process.arch}`, import.meta.url));
    if (existsSync(path)) return path;
  }
  return null;
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
