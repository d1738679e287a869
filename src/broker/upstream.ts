import { Agent, type ClientRequestArgs } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Dial, Refusal } from '../egress/index.ts';
import { readingInto } from './reading.ts';
import type { Origin } from './target.ts';

/** The operator's word where a host is really found: a gateway, a mirror, or a local stand-in. TLS still names the host. */
export type Pin = { host: string; port: number; address: string; toPort: number };

export type UpstreamOptions = {
  dial: Dial;
  roots: readonly string[];
  pins: readonly Pin[];
  connectMs: number;
};

/** The reason is for the run and the journal: it names hosts, never values. */
export class DialError extends Error {}

/** Idle connections are given up before most hosts do, so that a request seldom meets a closed one. */
const IDLE_MS = 4000;
/** A run that may go anywhere must not fill memory. Connections of a pool that is forgotten end by themselves when idle. */
const MAX_ORIGINS = 256;

/** Kept connections, one pool for each origin, each of them dialled at a vetted address. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #agents = new Map<string, Agent>();
  #context: SecureContext | null = null;

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  agentFor(origin: Origin, isPrivate: boolean): Agent {
    const key = `${origin.scheme}://${origin.host}:${origin.port} ${isPrivate}`;
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      agent = new VettedAgent(() => this.#open(origin, isPrivate));
      this.#agents.set(key, agent);
      const [oldest] = this.#agents;
      if (this.#agents.size > MAX_ORIGINS && oldest !== undefined) this.#agents.delete(oldest[0]);
    }
    return agent;
  }

  async #open(origin: Origin, isPrivate: boolean): Promise<Duplex> {
    const pin = this.#options.pins.find(({ host, port }) => host === origin.host && port === origin.port);
    const socket = await this.#options.dial(
      pin === undefined
        ? { host: origin.host, port: origin.port, private: isPrivate }
        : { host: pin.address, port: pin.toPort, private: true },
    );
    if (isRefusal(socket)) throw new DialError(socket.refused);
    socket.setNoDelay(true);
    return origin.scheme === 'http' ? socket : this.#secure(socket, origin.host);
  }

  #secure(socket: Socket, host: string): Promise<Duplex> {
    this.#context ??= createSecureContext({ ca: [...this.#options.roots], minVersion: 'TLSv1.2' });
    const { connectMs } = this.#options;
    return new Promise((resolve, reject) => {
      const options = {
        socket,
        host,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ALPNProtocols: ['http/1.1'],
        secureContext: this.#context as SecureContext,
        rejectUnauthorized: true,
        onread: readingInto(() => secured),
      };
      const secured: TLSSocket = tlsConnect(options);
      const fail = (reason: string) => {
        clearTimeout(timer);
        secured.destroy();
        reject(new DialError(`${host} cannot be trusted: ${reason}`));
      };
      const timer = setTimeout(() => fail('no handshake in time'), connectMs);
      // What follows a semicolon is advice on how to start Node.
      secured.once('error', error => fail(error.message.split(';')[0] ?? ''));
      secured.once('secureConnect', () => {
        clearTimeout(timer);
        secured.removeAllListeners('error');
        resolve(secured);
      });
    });
  }
}

class VettedAgent extends Agent {
  readonly #open: () => Promise<Duplex>;

  constructor(open: () => Promise<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: 16, timeout: IDLE_MS });
    this.#open = open;
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#open().then(
      socket => callback?.(null, socket),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  }
}

function isRefusal(value: Socket | Refusal): value is Refusal {
  return 'refused' in value;
}
