import type { OnReadOpts, Socket } from 'node:net';

const ROOM_BYTES = 256 * 1024;
/** What TLS gives at a time. Less than this left of a room is too little to read into. */
const LEAST_BYTES = 16 * 1024;

/**
 * Has a connection to a host read into memory that it keeps, more at a time than Node would by itself. What reads from it is
 * Node's parser of HTTP, which copies what it passes on before it returns; so the memory is free again, except for what the
 * connection holds while it has to wait.
 */
export function readingInto(connection: () => Socket): OnReadOpts {
  let room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  let held = 0;
  return {
    buffer: () => room.subarray(held),
    callback: (bytes, filled) => {
      const socket = connection();
      const goesOn = socket.push(filled.subarray(0, bytes));
      held = socket.readableLength === 0 ? 0 : held + bytes;
      if (room.length - held < LEAST_BYTES) {
        room = Buffer.allocUnsafeSlow(ROOM_BYTES);
        held = 0;
      }
      return goesOn;
    },
  };
}
