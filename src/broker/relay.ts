import { type ClientRequest, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { answerFault, type Fault } from './answer.ts';
import { prepareBody, TooLarge } from './body.ts';
import type { Brief, BrokerEvent, CustomSecret } from './brief.ts';
import type { Allowance, Judge } from './grant.ts';
import { answerHeaders, type Onward, onwardHeaders, onwardPath } from './headers.ts';
import type { Meter } from './meter.ts';
import { passOn } from './passing.ts';
import { Placeholders } from './placeholder.ts';
import type { Rooms } from './rooms.ts';
import { Scrubber } from './scrub.ts';
import { renderAuthority, type Target } from './target.ts';
import { DialError, type Upstream } from './upstream.ts';
import { tellsUsage, UsageMeter } from './usage.ts';

/** A request as the run made it, whichever way it came. */
export type Ask = {
  method: string;
  target: Target;
  rawHeaders: readonly string[];
  body: Readable;
  /** Null: chunked, and nobody knows. */
  length: number | null;
};

export type Relaying = {
  brief: Brief;
  judge: Judge;
  meter: Meter;
  upstream: Upstream;
  say: (event: BrokerEvent) => void;
  deny: (fault: Fault, about: Denied) => void;
  scrubbers: Map<string, Scrubber>;
  /** For answers on their way. */
  rooms: Rooms;
  /** Requests under way. */
  flight: { count: number };
};
export type Denied = { capability: string | null; method: string; host: string | null; reason: string };

/** What changes nothing at the host may be said twice. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Judges a request, puts the key in, and carries it to the host and the answer back, both as they flow. */
export async function relay(relaying: Relaying, ask: Ask, outgoing: ServerResponse): Promise<void> {
  const { brief, judge, meter, flight } = relaying;
  const { method, target } = ask;
  const host = renderAuthority(target);
  const refuse = (fault: Fault, reason: string, capability: string | null) => {
    relaying.deny(fault, { capability, method, host, reason });
    answerFault(outgoing, fault, reason);
  };
  const allowance = judge.decide(method, target);
  if ('refused' in allowance) return refuse('denied', allowance.refused, null);
  const { capability } = allowance;
  if (ask.length !== null && ask.length > brief.limits.requestBytes)
    return refuse('too_large', `a body of at most ${brief.limits.requestBytes} bytes is passed on`, capability);
  if (flight.count >= brief.limits.concurrent)
    return refuse('limit_reached', `${brief.limits.concurrent} requests are under way already`, capability);
  const spent = meter.begin(capability);
  if (spent !== null)
    return refuse('limit_reached', `the limit of ${spent} a run for ${capability} is reached`, capability);
  flight.count++;
  try {
    await new Exchange(relaying, ask, allowance, outgoing).run();
  } finally {
    flight.count--;
  }
}

/** One request on its way. It ends when the answer is out, or when anything breaks off. */
class Exchange {
  readonly #relaying: Relaying;
  readonly #ask: Ask;
  readonly #allowance: Allowance;
  readonly #outgoing: ServerResponse;
  readonly #startedAt = performance.now();
  readonly #scrubber: Scrubber;
  readonly #usage = new UsageMeter();
  #status = 0;
  #sent = 0;
  #received = 0;
  #failed: string | null = null;

  constructor(relaying: Relaying, ask: Ask, allowance: Allowance, outgoing: ServerResponse) {
    this.#relaying = relaying;
    this.#ask = ask;
    this.#allowance = allowance;
    this.#outgoing = outgoing;
    this.#scrubber = scrubberFor(relaying.scrubbers, allowance);
  }

  async run(): Promise<void> {
    const { brief, upstream } = this.#relaying;
    const { target } = this.#ask;
    const leftMs = Math.max(0, Math.min(brief.limits.timeMs, brief.expiresAt - Date.now()));
    const ended = Promise.withResolvers<void>();
    this.#outgoing.once('close', ended.resolve);
    const timer = setTimeout(() => this.#fail('timeout', `no answer within ${Math.round(leftMs / 1000)} s`), leftMs);
    const under: { way: ClientRequest | null } = { way: null };
    try {
      const placeholders = new Placeholders(this.#allowance.customs);
      const { body, length } = await prepareBody(this.#ask, placeholders, bytes => this.#count(bytes));
      const about: Onward = {
        target,
        allowance: this.#allowance,
        placeholders,
        tokenHash: brief.tokenHash,
        length,
        method: this.#ask.method,
      };
      const headers = onwardHeaders(this.#ask.rawHeaders, about);
      if ('refused' in headers) return this.#fail('denied', headers.refused);
      const options: RequestOptions = {
        agent: upstream.agentFor(target, this.#allowance.private),
        method: this.#ask.method,
        path: onwardPath(about),
        headers,
        setHost: false,
        maxHeaderSize: 64 * 1024,
      };
      const send = (mayRepeat: boolean) => {
        under.way = request(options);
        this.#follow(under.way, body, mayRepeat ? () => send(false) : null);
      };
      send(Buffer.isBuffer(body) && REPEATABLE.has(this.#ask.method));
      await ended.promise;
    } catch (error) {
      if (error instanceof TooLarge) this.#fail('too_large', error.message);
      else throw error;
    } finally {
      clearTimeout(timer);
      under.way?.destroy();
      this.#tell();
    }
  }

  /** Why no more of the body is passed on; null while all is well. */
  #count(bytes: number): string | null {
    const { brief, meter } = this.#relaying;
    this.#sent += bytes;
    if (this.#sent > brief.limits.requestBytes)
      return `a body of at most ${brief.limits.requestBytes} bytes is passed on`;
    return meter.carry(this.#allowance.capability, bytes) ? null : 'the bytes of this capability are used up';
  }

  #follow(onward: ClientRequest, body: Readable | Buffer, repeat: (() => void) | null): void {
    const outgoing = this.#outgoing;
    onward.on('response', response => this.#pass(response));
    // Nothing but HTTP leaves: a host that wants to switch protocols gets nowhere.
    onward.on('upgrade', (_response, socket) => {
      socket.destroy();
      this.#fail('unreachable', 'the host wants another protocol');
    });
    onward.on('error', (error: Error) => {
      // A kept connection may be closed by the host in the moment in which it is used again.
      if (repeat !== null && onward.reusedSocket && this.#status === 0 && !outgoing.headersSent) return repeat();
      // The journal hears which address refused, or why a certificate is no good; the run hears that it did not work.
      this.#failed ??= error instanceof DialError ? error.message : `the host broke off: ${error.message}`;
      if (this.#status === 0) this.#fail('unreachable', `${renderAuthority(this.#ask.target)} cannot be reached`);
      else outgoing.destroy();
    });
    if (Buffer.isBuffer(body)) {
      onward.end(body);
      return;
    }
    body.once('error', (error: Error) => {
      onward.destroy();
      this.#fail(error instanceof TooLarge ? 'too_large' : 'bad_request', error.message);
    });
    body.once('close', () => void (body.readableEnded || onward.destroy()));
    body.pipe(onward);
  }

  #pass(response: IncomingMessage) {
    const { rooms } = this.#relaying;
    const outgoing = this.#outgoing;
    if (outgoing.headersSent || outgoing.destroyed) return response.destroy();
    const encoding = response.headers['content-encoding'];
    if (!this.#scrubber.isEmpty && encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      response.destroy();
      return this.#fail('unreachable', 'the host compresses its answer though it was asked not to');
    }
    this.#status = response.statusCode ?? 502;
    outgoing.writeHead(this.#status, answerHeaders(response.rawHeaders, this.#scrubber));
    const metered = this.#allowance.endpoint !== null && tellsUsage(response.headers['content-type']);
    passOn(response, outgoing, {
      rooms,
      cleaner: this.#scrubber.cleaner(),
      mayPass: bytes => this.#receive(bytes),
      look: bytes => void (metered && this.#usage.add(bytes)),
    });
  }

  #receive(bytes: number): boolean {
    const { brief, meter } = this.#relaying;
    this.#received += bytes;
    if (meter.carry(this.#allowance.capability, bytes) && this.#received <= brief.limits.responseBytes) return true;
    this.#failed = 'the answer is larger than what is passed on';
    return false;
  }

  #fail(fault: Fault, reason: string): void {
    this.#failed ??= reason;
    answerFault(this.#outgoing, fault, this.#scrubber.text(reason));
  }

  #tell(): void {
    const { say, meter } = this.#relaying;
    const { capability } = this.#allowance;
    const { method, target } = this.#ask;
    const host = renderAuthority(target);
    const { tokens } = this.#usage;
    if (tokens !== null) meter.spend(capability, tokens);
    if (this.#failed !== null) say({ event: 'failed', capability, host, reason: this.#failed });
    if (this.#status === 0) return;
    say({
      event: 'used',
      capability,
      method,
      host,
      path: target.path.slice(0, 200),
      status: this.#status,
      sent: this.#sent,
      received: this.#received,
      tokens,
      durationMs: Math.round(performance.now() - this.#startedAt),
    });
  }
}

/** What was put into this request must not come back. Kept, because spelling a value in every way takes its time. */
function scrubberFor(kept: Map<string, Scrubber>, allowance: Allowance): Scrubber {
  const key = [allowance.capability, ...allowance.customs.map(({ key: name }) => name)].join(' ');
  const found = kept.get(key) ?? createScrubber(allowance);
  kept.set(key, found);
  return found;
}

function createScrubber({ endpoint, customs }: Allowance): Scrubber {
  const bound = customs.filter((custom: CustomSecret) => custom.hosts.length > 0).map(({ value }) => value);
  const { auth } = endpoint ?? { auth: null };
  const pair = auth?.form === 'basic' ? [`${auth.user}:${auth.value}`] : [];
  return new Scrubber([...(auth === null ? [] : [auth.value]), ...pair, ...bound]);
}
