import { AnswerFault } from './head.ts';

const [CR, LF, SEMICOLON] = [13, 10, 59];
/** For what hosts say between chunks and behind the last one, in a whole answer. Nobody needs it, and it is thrown away. */
const MAX_ASIDE_BYTES = 16 * 1024;
/** Of a size: some hosts write 64 bits, with zeros in front. More zeros than that are said aside. */
const DIGITS = 16;

type State = 'size' | 'extension' | 'size-end' | 'data' | 'data-cr' | 'data-end' | 'line' | 'line-end' | 'over';

/** Takes an answer out of its chunks, in the memory that it came in. */
export class Unchunker {
  #state: State = 'size';
  #digits = 0;
  /** Of the chunk that is being read. */
  #left = 0;
  #aside = 0;
  /** Of a line behind the last chunk, so far. */
  #isEmpty = true;

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /**
   * Reads from `from` on, moves the data to `out`, one piece behind the other, and says where it ends there. `out` is never
   * behind `from`. When the answer is over, `rest` tells where it ended.
   */
  read(bytes: Buffer, from: number, to: number, out: number): { out: number; rest: number } {
    let at = from;
    let end = out;
    while (at < to && this.#state !== 'over') {
      if (this.#state === 'data') {
        const size = Math.min(this.#left, to - at);
        if (end !== at) bytes.copyWithin(end, at, at + size);
        end += size;
        at += size;
        this.#left -= size;
        if (this.#left === 0) this.#state = 'data-cr';
      } else this.#step(bytes[at++] ?? 0);
    }
    return { out: end, rest: at };
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        this.#size(byte);
        return;
      case 'extension':
        if (byte === CR) this.#state = 'size-end';
        else this.#skip(byte);
        return;
      case 'size-end':
        expectByte(byte, LF);
        this.#state = this.#left === 0 ? 'line' : 'data';
        this.#digits = 0;
        return;
      case 'data-cr':
        expectByte(byte, CR);
        this.#state = 'data-end';
        return;
      case 'data-end':
        expectByte(byte, LF);
        this.#state = 'size';
        return;
      case 'line':
        if (byte === CR) this.#state = 'line-end';
        else {
          this.#isEmpty = false;
          this.#skip(byte);
        }
        return;
      case 'line-end':
        expectByte(byte, LF);
        this.#state = this.#isEmpty ? 'over' : 'line';
        this.#isEmpty = true;
        return;
      case 'data':
      case 'over':
        return; // not read byte by byte
    }
  }

  #size(byte: number): void {
    const digit = digitOf(byte);
    if (digit !== -1) {
      if (++this.#digits > DIGITS) this.#throwAway();
      this.#left = this.#left * 16 + digit;
      if (!Number.isSafeInteger(this.#left)) throw new AnswerFault('a chunk of it is too large');
      return;
    }
    if (this.#digits === 0) throw new AnswerFault('a chunk of it has no size');
    if (byte === CR) this.#state = 'size-end';
    else if (byte === SEMICOLON) this.#state = 'extension';
    else throw new AnswerFault('a chunk of it has no size');
  }

  #skip(byte: number): void {
    if (byte === LF || byte === 0) throw new AnswerFault('its chunks are not as they must be');
    this.#throwAway();
  }

  #throwAway(): void {
    if (++this.#aside > MAX_ASIDE_BYTES) throw new AnswerFault('it says too much between its chunks');
  }
}

function expectByte(byte: number, wanted: number): void {
  if (byte !== wanted) throw new AnswerFault('its chunks are not as they must be');
}

function digitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
