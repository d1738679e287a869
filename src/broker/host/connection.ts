import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Unchunker } from './chunks.ts';
import { AnswerFault, type AnswerHead, HeadReader } from './head.ts';
import type { Intake } from './intake.ts';
import type { Piece } from './rooms.ts';

/** A request as it is said to the host. */
export type Request = {
  method: string;
  /** All that comes before the body. */
  head: string;
  body: Buffer | Readable;
  isChunked: boolean;
};

/** Whoever asked. After `broken`, or the last piece, it hears no more. */
export type Asker = {
  head(head: AnswerHead): void;
  /** What has come since. One with nothing in it, not the last: the host has said its head, and no more for now. */
  piece(piece: Piece, isLast: boolean): void;
  /** `isUnheard`: not a byte of an answer has come. */
  broken(error: Error, isUnheard: boolean): void;
};

const MAX_INTERIM = 16;

/**
 * One connection to a host, which carries one request after the other. Node's own client would do the same; it takes five
 * times as long for a small answer, and copies a large one twice.
 */
export class HostConnection {
  readonly #socket: Socket;
  readonly #intake: Intake;
  readonly #onFree: (connection: HostConnection) => void;
  #asker: Asker | null = null;
  #method = '';
  #reader: HeadReader | null = null;
  #head: AnswerHead | null = null;
  /** Answers that only promise one. */
  #interim = 0;
  /** Of a body whose length is known, or that ends with the connection. */
  #left = 0;
  #chunks: Unchunker | null = null;
  #isSent = true;
  /** Waits where the host takes no more for now. */
  #body: Readable | null = null;
  #isPaused = false;
  #isDue = false;
  /** Whether it carried a request before. */
  isKept = false;
  /** Since when it waits for a request, and for how long the host will have it. */
  idleSince = 0;
  keepMs = 0;

  /** `onFree` hears when it can be used again. */
  constructor(socket: Socket, intake: Intake, onFree: (connection: HostConnection) => void) {
    this.#socket = socket;
    this.#intake = intake;
    this.#onFree = onFree;
    intake.look = (bytes, from, to) => this.#look(bytes, from, to);
    socket.on('error', error => this.#break(error));
    socket.on('drain', () => this.#body?.resume());
    socket.once('end', () => this.#end());
    socket.once('close', () => {
      this.#break(new Error('it closed the connection'));
      // Nobody wants the rest; but a run that says all before it listens has to come to its end.
      this.#body?.resume();
      intake.close();
    });
    if (intake.isSpoilt) socket.destroy();
    socket.resume();
  }

  get isAlive(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  ask(request: Request, asker: Asker): void {
    const socket = this.#socket;
    this.#asker = asker;
    this.#method = request.method;
    this.#reader = null;
    this.#head = null;
    this.#interim = 0;
    const { head, body } = request;
    if (!Buffer.isBuffer(body)) {
      this.#isSent = false;
      socket.write(head, 'latin1');
      this.#send(body, request.isChunked, asker);
    } else if (body.length === 0) socket.write(head, 'latin1');
    else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Whoever asked hears no more. */
  destroy(): void {
    this.#asker = null;
    this.#socket.destroy();
  }

  #send(body: Readable, isChunked: boolean, asker: Asker): void {
    const socket = this.#socket;
    const isOurs = () => this.#asker === asker;
    this.#body = body;
    body.on('data', (chunk: Buffer) => {
      if (!isOurs() || chunk.length === 0) return;
      if (isChunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
      socket.write(chunk);
      if (isChunked) socket.write('\r\n', 'latin1');
      if (socket.writableNeedDrain) body.pause();
    });
    body.once('end', () => {
      this.#body = null;
      if (!isOurs()) return;
      if (isChunked) socket.write('0\r\n\r\n', 'latin1');
      this.#isSent = true;
    });
  }

  #look(bytes: Buffer, from: number, to: number): boolean {
    // Threat: a host that speaks unasked would give the next request its answer.
    if (this.#asker === null) {
      this.destroy();
      return false;
    }
    try {
      this.#read(bytes, from, to);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
    return !this.#isPaused;
  }

  #read(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (this.#head === null) {
      this.#reader ??= new HeadReader();
      at = this.#reader.read(bytes, at, to);
      if (at === -1) return;
      const head = this.#reader.parse(this.#method);
      this.#reader = null;
      // Nothing but HTTP leaves: a host that wants to switch protocols gets nowhere.
      if (head.status === 101) throw new AnswerFault('the host wants another protocol');
      if (head.status >= 200) this.#begin(head);
      else if (++this.#interim > MAX_INTERIM) throw new AnswerFault('the host does not come to its answer');
    }
    const rest = this.#keep(bytes, at, to);
    if (this.#asker === null) return; // whoever asked does not want it
    if (this.#isOver()) this.#finish(rest === to);
    else if (this.#intake.isFull) this.#pass();
    else this.#passSoon();
  }

  #begin(head: AnswerHead): void {
    this.#head = head;
    this.#chunks = head.body === 'chunked' ? new Unchunker() : null;
    this.#left = typeof head.body === 'number' ? head.body : Infinity;
    this.#asker?.head(head);
  }

  /** Where the answer ends, at the latest. */
  #keep(bytes: Buffer, from: number, to: number): number {
    const { place } = this.#intake;
    if (this.#chunks !== null) {
      const { out, rest } = this.#chunks.read(bytes, from, to, place);
      this.#intake.keep(out);
      return rest;
    }
    const size = Math.min(this.#left, to - from);
    if (from !== place) bytes.copyWithin(place, from, from + size);
    this.#intake.keep(place + size);
    this.#left -= size;
    return from + size;
  }

  #isOver(): boolean {
    return this.#chunks === null ? this.#left === 0 : this.#chunks.isOver;
  }

  #pass(): void {
    this.#isDue = false;
    this.#asker?.piece(this.#intake.lend(), false);
  }

  /** What comes together goes on together, at once: most answers are one packet, and a stream comes in many small pieces. */
  #passSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      try {
        if (this.#isDue) this.#pass();
      } catch (error) {
        // As in a look: what cannot be passed on ends this answer, and not the broker.
        this.#break(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** All of the answer has come. `isClean`: and nothing else. */
  #finish(isClean: boolean): void {
    const [asker, keepMs] = [this.#asker, this.#head?.keepMs ?? 0];
    this.#asker = null;
    this.#isDue = false;
    if (this.#isPaused) this.resume();
    const last = this.#intake.lend();
    if (isClean && this.#isSent && keepMs > 0 && this.isAlive) {
      this.isKept = true;
      this.keepMs = keepMs;
      this.#onFree(this);
    } else this.#socket.destroy();
    asker?.piece(last, true);
  }

  #end(): void {
    if (this.#head?.body === 'close' && this.#asker !== null) this.#finish(false);
    else this.#break(new Error('it closed the connection'));
  }

  #break(error: Error): void {
    const asker = this.#asker;
    this.destroy();
    asker?.broken(error, this.#head === null && this.#reader === null);
  }
}
