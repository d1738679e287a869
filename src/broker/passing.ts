import type { ServerResponse } from 'node:http';
import type { HostConnection } from './host/connection.ts';
import type { Piece } from './host/rooms.ts';
import type { Cleaner } from './scrub.ts';

/**
 * So much of an answer may wait for a run that reads slowly; then the host waits too, until half of it is gone. Were it all of
 * it, the run would wait in its turn for every new beginning.
 */
const MAX_WAITING_BYTES = 1024 * 1024;
/** And so many pieces: each takes half a kilobyte while it waits, however little a host says at a time. */
const MAX_WAITING_PIECES = 1024;
/** An answer that has come whole and is no larger goes on as one text with its head: two buffers would take Node longer. */
const SMALL_BYTES = 8 * 1024;

/** Carries what a host answers to the run as it flows, without what was put into the request. */
export class Passage {
  readonly #outgoing: ServerResponse;
  /** Null when all has come: threat: what waits here would stop the connection of whoever asks on it next, or let it go on. */
  #from: HostConnection | null;
  readonly #cleaner: Cleaner;
  readonly #status: number;
  readonly #headers: string[];
  #pieces = 0;

  constructor(outgoing: ServerResponse, from: HostConnection, status: number, headers: string[], cleaner: Cleaner) {
    this.#outgoing = outgoing;
    this.#from = from;
    this.#status = status;
    this.#headers = headers;
    this.#cleaner = cleaner;
  }

  pass({ bytes, done }: Piece, isLast: boolean): void {
    const outgoing = this.#outgoing;
    if (isLast) this.#from = null;
    const clean = this.#cleaner.push(bytes);
    const isFirst = !outgoing.headersSent;
    if (isFirst) outgoing.writeHead(this.#status, this.#headers);
    if (isFirst && isLast && clean.length <= SMALL_BYTES) {
      const text = clean.toString('latin1');
      done();
      outgoing.end(text + this.#cleaner.flush().toString('latin1'), 'latin1');
      return;
    }
    if (clean.length > 0) this.#write(clean, done);
    else {
      done();
      if (isFirst) outgoing.flushHeaders();
    }
    if (!isLast) return;
    const rest = this.#cleaner.flush();
    outgoing.end(rest.length === 0 ? undefined : rest);
  }

  #write(bytes: Buffer, done: () => void): void {
    this.#pieces++;
    this.#outgoing.write(bytes, () => {
      this.#pieces--;
      done();
      if (this.#from?.isPaused === true && this.#waits() <= 0.5) this.#from.resume();
    });
    if (this.#waits() > 1) this.#from?.pause();
  }

  /** How much of what may wait does; at 1 it is all. */
  #waits(): number {
    return Math.max(this.#outgoing.writableLength / MAX_WAITING_BYTES, this.#pieces / MAX_WAITING_PIECES);
  }
}
