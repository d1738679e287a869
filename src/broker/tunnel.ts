import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { parseAuthority } from '../egress/index.ts';
import { answerRaw, type Fault } from './answer.ts';
import type { Authority } from './certificates.ts';
import type { Relaying } from './relaying.ts';
import type { Origin } from './target.ts';
import { wordsFor } from './token.ts';

export type Tunnels = {
  /** Where a connection inside a tunnel leads; null for one that came by itself. */
  originOf: (connection: Duplex) => Origin | null;
  open: (incoming: IncomingMessage, client: Duplex, head: Buffer) => void;
  /** No tunnel begins on this connection before the answer is out. */
  owes: (connection: Duplex, answer: ServerResponse) => void;
};

const FIRST_BYTE_MS = 10_000;
const HANDSHAKE_MS = 10_000;
const OWING = 'a tunnel on a connection that still owes an answer';
/** To a proxy's client that has shown no token, where there is no response object. */
export const CHALLENGE = 'proxy-authenticate: Basic realm="skillbox"\r\n';

/**
 * CONNECT. The tunnel ends here: what comes through it is a connection to the same server, which judges each request inside
 * as it does those outside.
 */
export function createTunnels(
  server: Server,
  { judge, deny, token }: Relaying,
  authority: Authority,
  isOwn: (place: { host: string; port: number }) => boolean,
): Tunnels {
  const origins = new WeakMap<Duplex, Origin>();
  /** The newest of each connection: answers go out in their order. */
  const owed = new WeakMap<Duplex, ServerResponse>();
  const enter = (connection: Duplex, origin: Origin) => {
    origins.set(connection, origin);
    server.emit('connection', connection);
  };
  const secure = (client: Duplex, origin: Origin) => {
    const secured = new TLSSocket(client as Socket, {
      isServer: true,
      secureContext: authority.contextFor(origin.host),
      ALPNProtocols: ['http/1.1'],
    });
    const timer = setTimeout(() => secured.destroy(), HANDSHAKE_MS);
    secured.once('close', () => clearTimeout(timer));
    secured.on('error', () => secured.destroy());
    secured.once('secure', () => {
      clearTimeout(timer);
      const named = secured.servername;
      // Another name inside than outside would be a way round what was judged.
      if (typeof named === 'string' && named !== '' && named.toLowerCase() !== origin.host) secured.destroy();
      else enter(secured, origin);
    });
  };
  return {
    originOf: connection => origins.get(connection) ?? null,
    owes: (connection, answer) => void owed.set(connection, answer),
    open(incoming, client, head) {
      client.on('error', () => client.destroy());
      const about = incoming.url ?? '';
      const refuse = (fault: Fault, status: number, reason: string) => {
        deny(fault, { capability: null, method: 'CONNECT', host: about, reason });
        answerRaw(client, status, fault, reason);
      };
      const presented = token.presented(incoming.headers, client);
      // Clients try without a credential first: that is no offence.
      if (presented === 'missing') return answerRaw(client, 407, 'no_token', wordsFor(presented), CHALLENGE);
      if (presented !== 'ok') return refuse('bad_token', 407, wordsFor(presented));
      // Threat: Node would write the answers of both into each other, and end this process over it. No client does so.
      if (owed.get(client)?.closed === false) {
        deny('bad_request', { capability: null, method: 'CONNECT', host: about, reason: OWING });
        client.destroy();
        return;
      }
      // Threat: each adds a layer to every write, and some dozens overflow the stack of this process.
      if (origins.has(client)) return refuse('denied', 403, 'a tunnel inside a tunnel');
      const place = parseAuthority(incoming.url ?? '', null);
      if ('refused' in place) return refuse('bad_request', 400, place.refused);
      const [https, http]: [Origin, Origin] = [
        { scheme: 'https', ...place },
        { scheme: 'http', ...place },
      ];
      if (!isOwn(place) && !judge.reaches(https) && !judge.reaches(http))
        return refuse('denied', 403, `${about} is not granted`);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      // A TLS handshake begins with this byte, and no HTTP request does.
      peek(client, head, first => (first === 0x16 ? secure(client, https) : enter(client, http)));
    },
  };
}

/** Waits for the first byte that the client says, and puts it back. */
function peek(client: Duplex, head: Buffer, then: (first: number) => void): void {
  if (head.length > 0) {
    client.unshift(head);
    then(head[0] ?? 0);
    return;
  }
  const timer = setTimeout(() => client.destroy(), FIRST_BYTE_MS);
  const look = () => {
    const bytes = client.read() as Buffer | null;
    if (bytes === null) return;
    client.off('readable', look);
    client.off('end', leave);
    clearTimeout(timer);
    client.unshift(bytes);
    then(bytes[0] ?? 0);
  };
  const leave = () => client.destroy();
  client.on('readable', look);
  client.once('end', leave);
  client.once('close', () => clearTimeout(timer));
}
