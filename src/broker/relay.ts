import type { ServerResponse } from 'node:http';
import { admit, limitReached } from './admit.ts';
import { answerFault, type Fault } from './answer.ts';
import { headerIn, type Prepared, prepareBody, TooLarge } from './body.ts';
import type { UnderWay } from './flight.ts';
import type { Allowance } from './grant.ts';
import { answerHeaders, isCoded, type Onward, onwardHead } from './headers.ts';
import type { Asker, HostConnection, Request } from './host/connection.ts';
import type { AnswerHead } from './host/head.ts';
import type { Piece } from './host/rooms.ts';
import { DialError } from './host/upstream.ts';
import { Passage } from './passing.ts';
import { Placeholders } from './placeholder.ts';
import type { Ask, Relaying } from './relaying.ts';
import type { Scrubber } from './scrub.ts';
import { scrubberFor } from './scrubbers.ts';
import { renderAuthority } from './target.ts';
import { tellsUsage, UsageMeter } from './usage.ts';

/** What changes nothing at the host may be said twice. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);
const NO_BODY = Buffer.alloc(0);

/** Judges a request, puts the key in, and carries it to the host and the answer back, both as they flow. */
export function relay(relaying: Relaying, ask: Ask, outgoing: ServerResponse): void {
  const admitted = admit(relaying, ask);
  if (!('fault' in admitted)) {
    new Exchange(relaying, ask, admitted, outgoing).begin();
    return;
  }
  const { fault, reason, capability } = admitted;
  relaying.deny(fault, { capability, method: ask.method, host: renderAuthority(ask.target), reason });
  answerFault(outgoing, fault, reason);
}

/** One request on its way. It ends when the answer is out, or when anything breaks off. */
class Exchange implements Asker, UnderWay {
  readonly #relaying: Relaying;
  readonly #ask: Ask;
  readonly #allowance: Allowance;
  readonly #outgoing: ServerResponse;
  readonly #startedAt = performance.now();
  readonly #scrubber: Scrubber;
  readonly #usage = new UsageMeter();
  readonly #timer: NodeJS.Timeout;
  #connection: HostConnection | null = null;
  #passage: Passage | null = null;
  /** What could be said a second time, until it was. */
  #repeatable: Request | null = null;
  at = 0;
  readonly connection: object;
  #isMetered = false;
  #isOpening = false;
  #isOver = false;
  #isSaid = false;
  /** Null until the host has answered. */
  #status: number | null = null;
  #sent = 0;
  #received = 0;
  #failed: string | null = null;

  constructor(relaying: Relaying, ask: Ask, allowance: Allowance, outgoing: ServerResponse) {
    this.#relaying = relaying;
    this.#ask = ask;
    this.#allowance = allowance;
    this.#outgoing = outgoing;
    this.#scrubber = scrubberFor(relaying.scrubbers, ask.target.host, allowance.known);
    const { brief, flight } = relaying;
    const leftMs = Math.max(0, Math.min(brief.limits.timeMs, brief.expiresAt - Date.now()));
    this.#timer = setTimeout(() => this.#fail('timeout', `no answer within ${Math.round(leftMs / 1000)} s`), leftMs);
    flight.count++;
    this.connection = outgoing.req.socket;
    flight.enter(this);
    outgoing.once('close', () => this.end());
  }

  begin(): void {
    const placeholders = new Placeholders(this.#allowance.customs);
    if (this.#ask.length === 0) {
      this.#send({ body: NO_BODY, length: 0 }, placeholders);
      return;
    }
    prepareBody(this.#ask, placeholders, bytes => this.#count(bytes))
      .then(prepared => this.#send(prepared, placeholders))
      .catch((error: unknown) => {
        if (error instanceof TooLarge) this.#fail('too_large', error.message);
        else this.#outgoing.destroy();
      });
  }

  /** Why no more of the body is passed on; null while all is well. */
  #count(bytes: number): string | null {
    const { brief, meter } = this.#relaying;
    const { capability } = this.#allowance;
    this.#sent += bytes;
    if (this.#sent > brief.limits.requestBytes)
      return `a body of at most ${brief.limits.requestBytes} bytes is passed on`;
    meter.carry(capability, bytes);
    return meter.overBy(capability, 0) === null ? null : 'the bytes of this capability are used up';
  }

  #send({ body, length }: Prepared, placeholders: Placeholders): void {
    const { token, upstream } = this.#relaying;
    const { method, target, rawHeaders } = this.#ask;
    if (this.#isOver) return;
    const about: Onward = {
      target,
      allowance: this.#allowance,
      placeholders,
      token,
      length,
      method,
    };
    const head = onwardHead(rawHeaders, about);
    if (typeof head !== 'string') {
      this.#fail('denied', head.refused);
      return;
    }
    const request: Request = { method, head, body, isChunked: length === null };
    if (Buffer.isBuffer(body)) {
      if (REPEATABLE.has(method)) this.#repeatable = request;
    } else {
      // What came with the head may have been too much already.
      if (body.errored !== null) {
        this.#break(body.errored);
        return;
      }
      body.once('error', (error: Error) => this.#break(error));
      body.once('close', () => void (body.readableEnded || this.#connection?.destroy()));
    }
    const kept = upstream.kept(target, this.#allowance.private);
    if (kept === null) this.#open(request);
    else this.#say(kept, request);
  }

  #open(request: Request): void {
    this.#isOpening = true;
    this.#relaying.upstream.open(this.#ask.target, this.#allowance.private).then(
      connection => {
        this.#opened();
        this.#say(connection, request);
      },
      (error: Error) => {
        this.#opened();
        this.broken(error, true);
      },
    );
  }

  #opened(): void {
    this.#isOpening = false;
    if (this.#isOver) this.#relaying.flight.count--;
  }

  #say(connection: HostConnection, request: Request): void {
    if (this.#isOver) connection.destroy();
    else {
      this.#connection = connection;
      this.#isSaid = true;
      connection.ask(request, this);
    }
  }

  head({ status, rawHeaders, body }: AnswerHead): void {
    const [outgoing, connection] = [this.#outgoing, this.#connection];
    if (connection === null) return;
    if (outgoing.headersSent || outgoing.destroyed) {
      connection.destroy();
      return;
    }
    if (!this.#scrubber.isEmpty && isCoded(rawHeaders)) {
      connection.destroy();
      this.#fail('unreachable', 'the host compresses its answer though it was asked not to');
      return;
    }
    this.#status = status;
    if (typeof body === 'number' && this.#stopsAt(body)) return;
    this.#isMetered = this.#allowance.endpoint !== null && tellsUsage(headerIn(rawHeaders, 'content-type'));
    const headers = answerHeaders(rawHeaders, this.#scrubber);
    this.#passage = new Passage(outgoing, connection, status, headers, this.#scrubber.cleaner());
  }

  piece(piece: Piece, isLast: boolean): void {
    const { bytes } = piece;
    // It is of use to others now.
    if (isLast) this.#connection = null;
    this.#received += bytes.length;
    this.#relaying.meter.carry(this.#allowance.capability, bytes.length);
    if (this.#stopsAt(0)) {
      piece.done();
      return;
    }
    if (this.#isMetered) this.#usage.add(bytes);
    this.#passage?.pass(piece, isLast);
  }

  broken(error: Error, isUnheard: boolean): void {
    const request = this.#repeatable;
    const wasKept = this.#connection?.isKept === true;
    this.#connection = null;
    this.#repeatable = null;
    // A kept connection may be closed by the host in the moment in which it is used again.
    if (request !== null && wasKept && isUnheard && !this.#isOver) {
      this.#open(request);
      return;
    }
    // The journal hears which address refused, or why a certificate is no good; the run hears that it did not work.
    this.#failed ??= error instanceof DialError ? error.message : `the host broke off: ${error.message}`;
    if (this.#status === null) this.#fail('unreachable', `${renderAuthority(this.#ask.target)} cannot be reached`);
    // An answer that was cut short must not look whole.
    else this.#outgoing.destroy();
  }

  /** No more of the body comes. */
  #break(error: Error): void {
    this.#fail(error instanceof TooLarge ? 'too_large' : 'bad_request', error.message);
    this.#connection?.destroy();
  }

  /** Stops an answer that goes over a limit with so many bytes more: the run hears why, or sees that what it has is not whole. */
  #stopsAt(more: number): boolean {
    const { brief, meter } = this.#relaying;
    const { capability } = this.#allowance;
    const { responseBytes } = brief.limits;
    const spent = meter.overBy(capability, more);
    if (spent === null && this.#received + more <= responseBytes) return false;
    this.#connection?.destroy();
    this.#connection = null;
    if (spent === null) this.#fail('too_large', `an answer of at most ${responseBytes} bytes is passed on`);
    else {
      // An announced answer counts like one that came: the host is not asked again and again for what does not pass.
      meter.carry(capability, more);
      this.#fail('limit_reached', limitReached(spent, capability));
    }
    return true;
  }

  #fail(fault: Fault, reason: string): void {
    this.#failed ??= reason;
    answerFault(this.#outgoing, fault, this.#scrubber.text(reason));
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { flight } = this.#relaying;
    flight.leave(this);
    // Threat: a run that asks and leaves at once, again and again, would have connections begun without number.
    if (!this.#isOpening) flight.count--;
    clearTimeout(this.#timer);
    this.#connection?.destroy();
    this.#tell();
  }

  #tell(): void {
    const { say, meter } = this.#relaying;
    const { capability } = this.#allowance;
    const { method, target } = this.#ask;
    const host = renderAuthority(target);
    const { tokens } = this.#usage;
    if (tokens !== null) meter.spend(capability, tokens);
    if (this.#failed !== null) say({ event: 'failed', capability, host, reason: this.#failed });
    // Threat: a run that leaves before the answer would send data out, and nobody would know.
    if (!this.#isSaid) return;
    say({
      event: 'used',
      capability,
      method,
      host,
      path: target.path,
      status: this.#status,
      sent: this.#sent,
      received: this.#received,
      tokens,
      durationMs: Math.round(performance.now() - this.#startedAt),
    });
  }
}
