import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';

export type ServerEvent = { event: string; id: string; data: unknown };
export type StreamLimits = {
  /** A line of nothing this often, so that both ends notice when the other is gone. */
  heartbeatMs: number;
  /** How often it is asked whether the reader may still read: so long a revoked key goes on. */
  confirmMs: number;
  /** How long a reader may take nothing before it is cut off. */
  slowReaderMs: number;
  /** Streams at once, of all callers. */
  maxStreams: number;
};

export const STREAM_LIMITS: StreamLimits = {
  heartbeatMs: 15_000,
  confirmMs: 5_000,
  slowReaderMs: 30_000,
  maxStreams: 2_000,
};
/** When a browser comes back by itself. */
const RETRY_MS = 1_000;

/** Server-sent events. It knows what goes on, to end it all when the server stops. */
export class EventStreams {
  readonly #limits: StreamLimits;
  readonly #running = new Set<AbortController>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** What cannot be followed is refused with its first event, while there is still a status to say so with. */
  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    source: (signal: AbortSignal) => AsyncIterable<ServerEvent>,
  ): Promise<void> {
    if (this.#running.size >= this.#limits.maxStreams)
      throw new SkillboxError('BUSY', 'too many streams are open', { details: { retryAfterSeconds: 5 } });
    const control = new AbortController();
    this.#running.add(control);
    reply.raw.on('close', () => control.abort());
    const events = source(control.signal)[Symbol.asyncIterator]();
    try {
      await this.#stream(request, reply, control, await events.next(), events);
    } finally {
      this.#running.delete(control);
      await events.return?.();
    }
  }

  /** Takes the answer over: from here on nothing can be refused with a status any more. */
  async #stream(
    request: FastifyRequest,
    reply: FastifyReply,
    control: AbortController,
    first: IteratorResult<ServerEvent>,
    rest: AsyncIterator<ServerEvent>,
  ): Promise<void> {
    const { raw } = reply;
    reply.hijack();
    const beat = setInterval(() => raw.write(':\n\n'), this.#limits.heartbeatMs);
    beat.unref();
    // Whatever goes wrong ends it: who may read comes back.
    const confirming = setInterval(() => void request.confirm().catch(() => control.abort()), this.#limits.confirmMs);
    confirming.unref();
    try {
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream; charset=utf-8',
        // A proxy that gathers would keep a reader waiting.
        'x-accel-buffering': 'no',
        // Nothing comes after it, and a server that stops need not wait for what might.
        connection: 'close',
      });
      await write(raw, `retry: ${RETRY_MS}\n\n`, control.signal, this.#limits.slowReaderMs);
      for (let next = first; next.done !== true && !control.signal.aborted; next = await rest.next())
        await write(raw, render(next.value), control.signal, this.#limits.slowReaderMs);
      raw.end();
    } catch (error) {
      if (!control.signal.aborted) request.log.warn({ err: error }, 'a stream of events broke off');
      raw.destroy();
    } finally {
      clearInterval(beat);
      clearInterval(confirming);
    }
  }

  /** Readers come back by themselves, to whoever serves then. */
  close(): void {
    for (const control of this.#running) control.abort();
  }
}

/** JSON has no line break of its own, so one line holds it. */
function render({ event, id, data }: ServerEvent): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Threat: a reader that takes nothing would have the server keep a whole log for it. What it has not taken is waited for. */
async function write(raw: ServerResponse, text: string, gone: AbortSignal, slowReaderMs: number): Promise<void> {
  if (raw.write(text)) return;
  await once(raw, 'drain', { signal: AbortSignal.any([AbortSignal.timeout(slowReaderMs), gone]) });
}
