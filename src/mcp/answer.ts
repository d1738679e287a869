import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';

/** A client, or what stands between, takes a connection on which nothing comes for a broken one. */
const KEEP_ALIVE_MS = 5000;

/**
 * The answer to one request of a session. JSON, as long as the result is all there is to send; a stream of events from the
 * moment that something comes before it, or that it takes long.
 */
export class Answer {
  readonly #res: ServerResponse;
  readonly #session: string;
  readonly #waiting: NodeJS.Timeout;

  constructor(res: ServerResponse, session: string) {
    this.#res = res;
    this.#session = session;
    this.#waiting = setInterval(() => this.#write(': keepalive\n\n'), KEEP_ALIVE_MS).unref();
    res.once('close', () => clearInterval(this.#waiting));
  }

  /** Something before the result: how far it is, or a question. */
  tell(message: JSONRPCMessage): void {
    this.#write(toEvent(message));
  }

  end(result: JSONRPCMessage): void {
    clearInterval(this.#waiting);
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
    clearInterval(this.#waiting);
    if (this.#res.headersSent) this.#res.end();
    else refuse(this.#res, 404, -32001, 'There is no such session; initialize anew.');
  }

  #write(text: string): void {
    if (!this.#res.headersSent) {
      this.#res.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
        'Mcp-Session-Id': this.#session,
      });
    }
    this.#res.write(text);
  }
}

function toEvent(message: JSONRPCMessage): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

export function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  const error = { jsonrpc: '2.0', error: { code, message }, id: null };
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(error));
}
