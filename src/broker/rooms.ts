/**
 * Memory for large answers on their way, used again and again. Node gives every piece of an answer memory of its own, some
 * hundred megabytes in a second, and V8 walks through its whole heap whenever 64 of them have come together.
 */
const ROOM_BYTES = 256 * 1024;
/** As many as one answer has on its way. */
const MAX_FREE = 8;
/** Less than this at a time, such as events, is not worth the copying. */
const LARGE_BYTES = 16 * 1024;

type Room = { bytes: Buffer; lent: number; isFull: boolean };

/** Something to be passed on; whoever has done so says it, once. */
export type Piece = { bytes: Buffer; done: () => void };

/** The rooms of one broker that nobody uses. */
export class Rooms {
  readonly #free: Buffer[] = [];

  take(): Room {
    return { bytes: this.#free.pop() ?? Buffer.allocUnsafeSlow(ROOM_BYTES), lent: 0, isFull: false };
  }

  /** Part of a room. When the room is full and all its parts are done, it is free again. */
  lend(room: Room, from: number, to: number): Piece {
    room.lent++;
    const done = () => {
      room.lent--;
      if (room.isFull && room.lent === 0 && this.#free.length < MAX_FREE) this.#free.push(room.bytes);
    };
    return { bytes: room.bytes.subarray(from, to), done };
  }
}

/** Puts together what comes of one answer. A room is this answer's alone until it is full: a slow one pins no others. */
export class Gathering {
  readonly #rooms: Rooms;
  #small: Buffer[] = [];
  #smallBytes = 0;
  #room: Room | null = null;
  #from = 0;
  #to = 0;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /** Takes the chunk over: nobody else may hold it, because its memory is given back. Answers what there is no room beside. */
  add(chunk: Buffer): Piece[] {
    this.#small.push(chunk);
    this.#smallBytes += chunk.length;
    if (this.#smallBytes < LARGE_BYTES && this.#from === this.#to) return [];
    const full: Piece[] = [];
    for (const small of this.#small) this.#copy(small, full);
    this.#small = [];
    this.#smallBytes = 0;
    return full;
  }

  /** What has come since. */
  rest(): Piece | null {
    if (this.#room !== null && this.#from < this.#to) {
      const piece = this.#rooms.lend(this.#room, this.#from, this.#to);
      this.#from = this.#to;
      return piece;
    }
    const small = this.#small;
    this.#small = [];
    this.#smallBytes = 0;
    const [first] = small;
    if (first === undefined) return null;
    return { bytes: small.length === 1 ? first : Buffer.concat(small), done: () => undefined };
  }

  #copy(chunk: Buffer, full: Piece[]): void {
    for (let at = 0; at < chunk.length; ) {
      this.#room ??= this.#rooms.take();
      const copied = chunk.copy(this.#room.bytes, this.#to, at);
      at += copied;
      this.#to += copied;
      if (this.#to === ROOM_BYTES) full.push(this.#fill(this.#room));
    }
    release(chunk);
  }

  #fill(room: Room): Piece {
    room.isFull = true;
    const piece = this.#rooms.lend(room, this.#from, this.#to);
    this.#room = null;
    this.#from = 0;
    this.#to = 0;
    return piece;
  }
}

/** Now, and not when the collector has found out that it is no longer used. */
function release({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}
