import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';

/** What is not answered by then goes to be a stream: its head is sent, and read by the client, while the result is made. */
const STREAM_AFTER_MS = 5;
/** A client, or what stands between, takes a connection on which nothing comes for a broken one. */
const KEEP_ALIVE_MS = 15_000;

/**
 * The answer to one request of a session: JSON when the result is there at once and is all there is to send; a stream of
 * events when something comes before it, or when it takes a while.
 */
export class Answer {
  readonly #res: ServerResponse;
  readonly #session: string;
  #timer: NodeJS.Timeout;

  constructor(res: ServerResponse, session: string) {
    this.#res = res;
    this.#session = session;
    this.#timer = setTimeout(() => this.#beginStream(), STREAM_AFTER_MS);
    res.once('close', () => clearTimeout(this.#timer));
  }

  /** Something before the result: how far it is, or a question. */
  tell(message: JSONRPCMessage): void {
    if (!this.#res.headersSent) this.#beginStream();
    this.#res.write(toEvent(message));
  }

  end(result: JSONRPCMessage): void {
    clearTimeout(this.#timer);
    if (this.#res.headersSent) {
      this.#res.end(toEvent(result));
      return;
    }
    const text = JSON.stringify(result);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      'Mcp-Session-Id': this.#session,
    };
    this.#res.writeHead(200, headers).end(text);
  }

  /** The session ended, and there will be no result. */
  leave(): void {
    clearTimeout(this.#timer);
    if (this.#res.headersSent) this.#res.end();
    else refuse(this.#res, 404, -32001, 'There is no such session; initialize anew.');
  }

  #beginStream(): void {
    clearTimeout(this.#timer);
    this.#timer = setInterval(() => this.#res.write(': keepalive\n\n'), KEEP_ALIVE_MS).unref();
    this.#res.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
      'Mcp-Session-Id': this.#session,
    });
    this.#res.flushHeaders();
  }
}

function toEvent(message: JSONRPCMessage): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

export function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  const error = { jsonrpc: '2.0', error: { code, message }, id: null };
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(error));
}
