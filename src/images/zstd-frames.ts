import { refuse } from './refusal.ts';
import type { Chunks } from './unpack.ts';

const MAGIC = 0xfd2fb528;
/** Of what a reader does not know and passes over, sixteen of them. Podman keeps a table of the files there (zstd:chunked). */
const SKIPPED = 0x184d2a50;
const SKIPPED_MASK = 0xfffffff0;
const RLE_BLOCK = 1;
const NOTHING: Buffer = Buffer.alloc(0);

/** Whether these first bytes begin something of zstd. */
export function isZstd(head: Buffer): boolean {
  return head.length >= 4 && (head.readUInt32LE(0) === MAGIC || isSkipped(head.readUInt32LE(0)));
}

function isSkipped(magic: number): boolean {
  return (magic & SKIPPED_MASK) >>> 0 === SKIPPED;
}

/**
 * The same bytes without the frames that are passed over, cut where a frame ends: of what stands behind the end in one piece
 * with it, zlib takes nothing, so that a file of several frames would end with its first. Each costs more than its bytes, so
 * there may be no more of them than an image has entries: writers make one for each file at most.
 */
export async function* splitFrames(what: string, packed: Chunks, most: number): AsyncGenerator<Buffer> {
  let frame = new Frame();
  let frames = 0;
  let undecided = NOTHING;
  for await (const chunk of packed) {
    let from = 0;
    for (let at = 0; at < chunk.length; ) {
      at += frame.take(chunk.subarray(at));
      if (!frame.isOver) continue;
      if (++frames > most) throw refuse('compression', what, `has more than ${most} frames of zstd`);
      if (frame.isKept === true) yield Buffer.concat([undecided, chunk.subarray(from, at)]);
      undecided = NOTHING;
      from = at;
      frame = new Frame();
    }
    const rest = chunk.subarray(from);
    if (frame.isKept === null) undecided = Buffer.concat([undecided, rest]);
    else if (frame.isKept) {
      if (undecided.length > 0) yield undecided;
      undecided = NOTHING;
      if (rest.length > 0) yield rest;
    } else undecided = NOTHING;
  }
  if (undecided.length > 0) yield undecided; // cut off: the decoder says so
}

/** `isHeader`: these bytes are wanted, and the others only counted. */
type Step = { bytes: number; isHeader: boolean };

const read = (bytes: number): Step => ({ bytes, isHeader: true });
const pass = (bytes: number): Step => ({ bytes, isHeader: false });

/** Where one frame ends, by what its headers say (RFC 8878). What they promise falsely, the decoder finds out. */
class Frame {
  /** Null until the first four bytes are there. */
  isKept: boolean | null = null;
  isOver = false;
  readonly #steps = this.#walk();
  #step: Step = read(4);
  #held: Buffer = NOTHING;

  constructor() {
    this.#steps.next();
  }

  /** Answers how many of the bytes it took: at least one. */
  take(bytes: Buffer): number {
    const part = bytes.subarray(0, this.#step.bytes);
    if (this.#step.isHeader) this.#held = Buffer.concat([this.#held, part]);
    this.#step = { ...this.#step, bytes: this.#step.bytes - part.length };
    while (this.#step.bytes === 0 && !this.isOver) {
      const { value, done } = this.#steps.next(this.#held);
      this.#held = NOTHING;
      if (done === true) this.isOver = true;
      else this.#step = value;
    }
    return part.length;
  }

  *#walk(): Generator<Step, void, Buffer> {
    const magic = (yield read(4)).readUInt32LE(0);
    this.isKept = !isSkipped(magic);
    if (!this.isKept) {
      yield pass((yield read(4)).readUInt32LE(0));
      return;
    }
    // No zstd at all: the decoder says so.
    if (magic !== MAGIC) yield pass(Number.POSITIVE_INFINITY);
    const about = (yield read(1)).readUInt8(0);
    const isSingle = (about & 0x20) !== 0;
    const dictionaryBytes = [0, 1, 2, 4][about & 3] ?? 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][about >> 6] ?? 0;
    yield pass((isSingle ? 0 : 1) + dictionaryBytes + sizeBytes);
    for (let isLast = false; !isLast; ) {
      const block = (yield read(3)).readUIntLE(0, 3);
      isLast = (block & 1) === 1;
      yield pass(((block >> 1) & 3) === RLE_BLOCK ? 1 : block >> 3);
    }
    if ((about & 4) !== 0) yield pass(4); // a checksum
  }
}
