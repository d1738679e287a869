import type { IncomingMessage, ServerResponse } from 'node:http';
import { Gathering, type Piece, type Rooms } from './rooms.ts';
import type { Cleaner } from './scrub.ts';

/**
 * So much of an answer may wait for a run that reads slowly; then the host waits too, until half of it is gone. Were it all of
 * it, the run would wait in its turn for every new beginning.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

export type Passing = {
  rooms: Rooms;
  cleaner: Cleaner;
  /** So many bytes more have come; false when that is too much, and the answer ends here. */
  mayPass: (bytes: number) => boolean;
  /** Sees all of it, as it came. */
  look: (bytes: Buffer) => void;
};

/** Carries what a host answers to the run as it flows, without what was put into the request. */
export function passOn(response: IncomingMessage, outgoing: ServerResponse, passing: Passing): void {
  const { rooms, cleaner, mayPass, look } = passing;
  const gathering = new Gathering(rooms);
  const goOn = () => {
    if (response.isPaused() && outgoing.writableLength <= MAX_WAITING_BYTES / 2) response.resume();
  };
  const pass = ({ bytes, done }: Piece) => {
    look(bytes);
    const clean = cleaner.push(bytes);
    if (clean.length === 0) return done();
    outgoing.write(clean, () => {
      done();
      goOn();
    });
    if (outgoing.writableLength > MAX_WAITING_BYTES) response.pause();
  };
  // What came together goes on together, at once: most answers are one packet, and a stream comes in many small pieces.
  let isDue = true;
  const passRest = () => {
    isDue = false;
    const rest = gathering.rest();
    if (rest !== null) pass(rest);
  };
  setImmediate(() => {
    passRest();
    if (!outgoing.writableEnded) outgoing.flushHeaders();
  });
  response.on('data', (chunk: Buffer) => {
    if (!mayPass(chunk.length)) {
      response.destroy();
      return;
    }
    for (const piece of gathering.add(chunk)) pass(piece);
    if (!isDue) setImmediate(passRest);
    isDue = true;
  });
  response.once('end', () => {
    passRest();
    const rest = cleaner.flush();
    outgoing.end(rest.length === 0 ? undefined : rest);
  });
  // An answer that was cut short must not look whole.
  response.once('close', () => void (response.complete || outgoing.destroy()));
  response.once('error', () => outgoing.destroy());
}
