import { isIP, type OnReadOpts, connect as tcpConnect } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type SecureContext,
  TLSSocket,
  connect as tlsConnect,
} from 'node:tls';
import type { Dial, Open } from '../../egress/index.ts';
import type { Origin } from '../target.ts';
import { HostConnection } from './connection.ts';
import { Intake } from './intake.ts';
import { Rooms } from './rooms.ts';

/** The operator's word where a host is really found: a gateway, a mirror, or a local stand-in. TLS still names the host. */
export type Pin = { host: string; port: number; address: string; toPort: number };

export type UpstreamOptions = {
  dial: Dial;
  roots: readonly string[];
  pins: readonly Pin[];
  connectMs: number;
  /** So many connections are kept when nothing is asked: of all hosts together, because each holds memory. */
  mostWaiting: number;
};

/** The reason is for the run and the journal: it names hosts, never values. */
export class DialError extends Error {}

/** Idle connections are given up before most hosts do, so that a request seldom meets a closed one. */
const IDLE_MS = 4000;
const SWEEP_MS = 1000;
/** A run that may go anywhere must not fill memory. Connections of a pool that is forgotten are closed when they are free. */
const MAX_ORIGINS = 256;

/** Kept connections, one pool for each origin, each of them dialled at a vetted address. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #rooms = new Rooms();
  readonly #pools = new Map<string, Pool>();
  readonly #places: Places;
  #context: SecureContext | null = null;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#places = { left: options.mostWaiting };
    setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** One that waits; null where a new one has to be made. */
  kept(origin: Origin, isPrivate: boolean): HostConnection | null {
    return this.#poolFor(origin, isPrivate).take();
  }

  async open(origin: Origin, isPrivate: boolean): Promise<HostConnection> {
    const { host, port, scheme } = origin;
    const pool = this.#poolFor(origin, isPrivate);
    const intake = new Intake(this.#rooms);
    const pin = this.#options.pins.find(one => one.host === host && one.port === port);
    const place =
      pin === undefined
        ? { host, port, private: isPrivate }
        : { host: pin.address, port: pin.toPort, private: true as const };
    const begin: Open = options =>
      scheme === 'http'
        ? tcpConnect({ ...options, onread: intake.reading })
        : this.#secure(host, { ...options, onread: intake.reading });
    const socket = await this.#options.dial(place, begin);
    if ('refused' in socket) throw new DialError(socket.refused);
    socket.setNoDelay(true);
    if (socket instanceof TLSSocket) await trusted(socket, host, this.#options.connectMs);
    return new HostConnection(socket, intake, pool.add);
  }

  #poolFor({ scheme, host, port }: Origin, isPrivate: boolean): Pool {
    const key = `${scheme}://${host}:${port} ${isPrivate}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new Pool(this.#places);
      this.#pools.set(key, pool);
      const [oldest] = this.#pools;
      if (this.#pools.size > MAX_ORIGINS && oldest !== undefined) {
        this.#pools.delete(oldest[0]);
        oldest[1].close();
      }
    }
    return pool;
  }

  #sweep(): void {
    for (const pool of this.#pools.values()) pool.sweep();
  }

  /** The certificate is checked for the host that was asked for, wherever it is found. */
  #secure(host: string, options: ConnectionOptions & { onread: OnReadOpts }): TLSSocket {
    this.#context ??= createSecureContext({ ca: [...this.#options.roots], minVersion: 'TLSv1.2' });
    return tlsConnect({
      ...options,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
      ALPNProtocols: ['http/1.1'],
      secureContext: this.#context,
      rejectUnauthorized: true,
    });
  }
}

/** Waits for the handshake. */
function trusted(socket: TLSSocket, host: string, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      socket.destroy();
      reject(new DialError(`${host} cannot be trusted: ${reason}`));
    };
    const timer = setTimeout(() => fail('no handshake in time'), withinMs);
    // What follows a semicolon is advice on how to start Node.
    socket.on('error', error => fail(error.message.split(';')[0] ?? ''));
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve();
    });
  });
}

/** How many more connections may wait, whichever host they lead to. */
type Places = { left: number };

/** Connections to one origin that wait for a request. */
class Pool {
  readonly #places: Places;
  #idle: HostConnection[] = [];
  #isClosed = false;

  constructor(places: Places) {
    this.#places = places;
  }

  readonly add = (connection: HostConnection): void => {
    connection.idleSince = performance.now();
    if (this.#isClosed || this.#places.left === 0) connection.destroy();
    else {
      this.#places.left--;
      this.#idle.push(connection);
    }
  };

  /** The one that was used last. */
  take(): HostConnection | null {
    for (let found = this.#idle.pop(); found !== undefined; found = this.#idle.pop()) {
      this.#places.left++;
      if (isFit(found)) return found;
      found.destroy();
    }
    return null;
  }

  sweep(): void {
    const unfit = this.#idle.filter(one => !isFit(one));
    if (unfit.length === 0) return;
    this.#idle = this.#idle.filter(one => !unfit.includes(one));
    this.#drop(unfit);
  }

  close(): void {
    this.#isClosed = true;
    this.#drop(this.#idle.splice(0));
  }

  #drop(all: readonly HostConnection[]): void {
    this.#places.left += all.length;
    for (const one of all) one.destroy();
  }
}

function isFit({ isAlive, idleSince, keepMs }: HostConnection): boolean {
  return isAlive && performance.now() - idleSince < Math.min(IDLE_MS, keepMs);
}
