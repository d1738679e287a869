import { once } from 'node:events';
import {
  createServer as createPlain,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createAuthority } from '../../src/broker/certificates.ts';

export type Recorded = {
  method: string;
  url: string;
  host: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
  bytes: Buffer;
};
export type Answer = (request: Recorded, outgoing: ServerResponse) => void | Promise<void>;

const authority = createAuthority(Date.now() + 86_400_000);
/** What the broker is told to trust beside the well-known authorities. */
export const UPSTREAM_ROOT = authority.pem;

/** A host on loopback, with TLS under any name or plain, that remembers all it was asked. */
export class UpstreamServer {
  readonly requests: Recorded[] = [];
  readonly #server: Server;
  answer: Answer;

  constructor(tls: boolean, answer: Answer = (_request, outgoing) => void outgoing.end('fine\n')) {
    this.answer = answer;
    const listener: RequestListener = (incoming, outgoing) => void this.#take(incoming, outgoing);
    this.#server = tls
      ? createSecure({ SNICallback: (name, done) => done(null, authority.contextFor(name)) }, listener)
      : createPlain(listener);
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get last(): Recorded {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error('nothing came to the upstream');
    return last;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on('error', () => undefined);
    let body: Buffer;
    try {
      body = await buffer(incoming);
    } catch {
      return; // broken off, as some tests want it
    }
    const { method = '', url = '', headers, rawHeaders } = incoming;
    const request = {
      method,
      url,
      host: headers.host ?? '',
      headers,
      rawHeaders,
      body: body.toString('utf8'),
      bytes: body,
    };
    this.requests.push(request);
    await this.answer(request, outgoing);
  }
}
