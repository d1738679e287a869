/**
 * Memory that answers are read into, used again and again. Node would give every piece of an answer memory of its own, some
 * hundred megabytes in a second, and V8 walks through its whole heap whenever 64 of them have come together.
 */
const ROOM_BYTES = 256 * 1024;
/** As many as one answer has on its way. */
const MAX_FREE = 8;

export type Room = { bytes: Buffer; lent: number; isFull: boolean };

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
      if (room.isFull) this.#giveBack(room);
    };
    return { bytes: room.bytes.subarray(from, to), done };
  }

  /** Nothing more will be read into it. */
  leave(room: Room): void {
    room.isFull = true;
    this.#giveBack(room);
  }

  #giveBack({ bytes, lent }: Room): void {
    if (lent === 0 && this.#free.length < MAX_FREE) this.#free.push(bytes);
  }
}
