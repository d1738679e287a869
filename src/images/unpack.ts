import { createHash, type Hash } from 'node:crypto';
import * as zlib from 'node:zlib';
import { SkillboxError } from '../base/index.ts';
import type { ImageLimits } from './limits.ts';
import { refuse } from './refusal.ts';
import { isZstd, splitFrames } from './zstd-frames.ts';

export type Chunks = AsyncIterable<Buffer>;

/** What is spent of the limits over the whole import, and who wants to know. */
export type Meter = {
  readonly limits: ImageLimits;
  unpackedBytes: number;
  readonly signal: AbortSignal | null;
  readonly onBytes: (unpackedBytes: number) => void;
};

/** Passes the bytes on while it counts and hashes them: read `digest` when they are through. */
export class Tap {
  bytes = 0;
  readonly #hash: Hash = createHash('sha256');

  async *watch(chunks: Chunks): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.bytes += chunk.length;
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  digest(): string {
    return `sha256:${this.#hash.digest('hex')}`;
  }
}

/**
 * The tar inside: gzip and zstd are told by their first bytes, because media types lie and `docker save` names none.
 * Every byte that comes out is paid for before it is passed on.
 */
export async function* unpack(what: string, packed: Chunks, meter: Meter): AsyncGenerator<Buffer> {
  const tap = { bytes: 0 };
  const counted = countInto(packed, tap);
  const { head, rest } = await peek(counted, HEAD_BYTES);
  const packing = packingOf(what, head);
  let unpacked = 0;
  try {
    for await (const chunk of unpackAs(what, packing, rest, meter.limits)) {
      requireGoingOn(meter.signal);
      unpacked += chunk.length;
      meter.unpackedBytes += chunk.length;
      const { bytes, ratio, ratioFreeBytes } = meter.limits;
      if (meter.unpackedBytes > bytes) throw refuse('bytes', null, `unpacks to more than ${bytes} bytes`);
      if (unpacked > ratioFreeBytes && unpacked > tap.bytes * ratio)
        throw refuse('ratio', what, `grows to more than ${ratio} times its size`);
      meter.onBytes(meter.unpackedBytes);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof SkillboxError || !isZlibError(error)) throw error;
    throw refuse('compression', what, `cannot be unpacked: ${error.message}`, error);
  }
}

export function requireGoingOn(signal: AbortSignal | null): void {
  if (signal?.aborted) throw new SkillboxError('CANCELED', 'the import was canceled');
}

async function* countInto(chunks: Chunks, tap: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    tap.bytes += chunk.length;
    yield chunk;
  }
}

async function peek(chunks: Chunks, bytes: number): Promise<{ head: Buffer; rest: Chunks }> {
  const source = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < bytes) {
    const { value, done } = await source.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const rest = async function* () {
    try {
      if (head.length > 0) yield head;
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  };
  return { head, rest: rest() };
}

export const HEAD_BYTES = 10;

/** What is told of others by their first bytes, so that nobody takes such a file for a damaged one. */
const UNREAD: readonly [name: string, begins: RegExp][] = [
  ['xz', /^\xfd7zXZ\0/],
  ['bzip2', /^BZh[1-9]1AY&SY/],
];

/** Null for what is not packed; what is packed in a way that is not read is refused. */
export function packingOf(what: string, head: Buffer): 'gzip' | 'zstd' | null {
  if (head.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b]))) return 'gzip';
  if (isZstd(head)) return 'zstd';
  const [other] = UNREAD.find(([, begins]) => begins.test(head.toString('latin1'))) ?? [];
  if (other !== undefined)
    throw refuse('compression', what, `is packed with ${other}; what is read is gzip, zstd and what is not packed`);
  return null;
}

type Inflater = zlib.Gunzip | zlib.ZstdDecompress;

function unpackAs(what: string, packing: 'gzip' | 'zstd' | null, packed: Chunks, limits: ImageLimits): Chunks {
  if (packing === null) return packed;
  if (packing === 'gzip') return inflate(packed, zlib.createGunzip());
  // Node 22.15 and 23.8 brought it.
  if ('createZstdDecompress' in zlib)
    return inflate(splitFrames(what, packed, limits.entries), zlib.createZstdDecompress());
  throw refuse('compression', what, `is packed with zstd, which Node ${process.versions.node} cannot read`);
}

async function* inflate(packed: Chunks, inflater: Inflater): AsyncGenerator<Buffer> {
  // Not `pipeline`: it would end quietly where a reader stops early, and the packed bytes after that go uncounted.
  const feeding = feed(packed, inflater);
  // Behind the end of what is packed nobody reads from it any more, and an error that nobody hears ends the process.
  inflater.on('error', () => undefined);
  feeding.catch((error: unknown) => inflater.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    for await (const chunk of inflater) yield chunk as Buffer;
    await feeding;
  } finally {
    inflater.destroy();
    await feeding.catch(() => undefined); // told by the loop above, which it ended
  }
}

async function feed(packed: Chunks, inflater: Inflater): Promise<void> {
  let gone = false;
  const closed = new Promise<void>(resolve =>
    inflater.once('close', () => {
      gone = true;
      resolve();
    }),
  );
  for await (const chunk of packed) {
    if (gone) return;
    if (!inflater.write(chunk)) await Promise.race([new Promise(resolve => inflater.once('drain', resolve)), closed]);
  }
  if (!gone) inflater.end();
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(Z_|ZSTD_|ERR_)/.test(String(error.code));
}
