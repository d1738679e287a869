import type { OnReadOpts } from 'node:net';
import type { Piece, Rooms } from './rooms.ts';

/** What TLS gives at a time. Less than this left of a room is too little to read into. */
const LEAST_BYTES = 16 * 1024;
const NOTHING: Piece = { bytes: Buffer.alloc(0), done: () => undefined };

/** Looks at what came, from here to there, and says whether more may come. */
type Look = (bytes: Buffer, from: number, to: number) => boolean;

/**
 * Where a connection to a host reads to. What is kept of it lies in one piece: what HTTP says between is read over by what
 * comes next, so that an answer goes on to the run in the memory in which it came.
 */
export class Intake {
  readonly #rooms: Rooms;
  #room;
  /** What is kept and was not lent yet. */
  #from = 0;
  #to = 0;
  /** Somebody spoke before anybody listened. */
  isSpoilt = false;
  look: Look = () => {
    this.isSpoilt = true;
    return false;
  };
  /** For `net.connect` and `tls.connect`. */
  readonly reading: OnReadOpts = {
    buffer: () => this.#next(),
    callback: bytes => this.look(this.#room.bytes, this.#to, this.#to + bytes),
  };

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#room = rooms.take();
  }

  /** Where what is kept of a look has to be moved to. */
  get place(): number {
    return this.#to;
  }

  /** Everything up to there is an answer's. */
  keep(to: number): void {
    this.#to = to;
  }

  get isFull(): boolean {
    return this.#room.bytes.length - this.#to < LEAST_BYTES;
  }

  /** What was kept since. */
  lend(): Piece {
    if (this.#from === this.#to) return NOTHING;
    const piece = this.#rooms.lend(this.#room, this.#from, this.#to);
    this.#from = this.#to;
    return piece;
  }

  /** The connection is gone. What is lent stays as it is. */
  close(): void {
    this.#rooms.leave(this.#room);
  }

  #next(): Buffer {
    if (this.#from === this.#to && (this.#room.lent === 0 || this.isFull)) this.#begin();
    return this.#room.bytes.subarray(this.#to);
  }

  /** At the beginning of this room, if nobody has any of it any more, or of another one. */
  #begin(): void {
    if (this.#room.lent > 0) {
      this.#rooms.leave(this.#room);
      this.#room = this.#rooms.take();
    }
    this.#from = 0;
    this.#to = 0;
  }
}
