import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createDial, type Resolve } from '../egress/index.ts';
import { answerFault, answerJson, answerRaw, type Fault } from './answer.ts';
import type { Brief, BrokerEvent } from './brief.ts';
import { createAuthority } from './certificates.ts';
import { Flight } from './flight.ts';
import { createJudge } from './grant.ts';
import { type Pin, Upstream } from './host/upstream.ts';
import { Meter } from './meter.ts';
import { relay } from './relay.ts';
import type { Denied, Relaying } from './relaying.ts';
import { askFrom, route } from './routes.ts';
import { type Origin, parsePath, parseUrl, renderAuthority, type Target } from './target.ts';
import { TokenCheck, wordsFor } from './token.ts';
import { CHALLENGE, createTunnels } from './tunnel.ts';

export type BrokerOptions = {
  brief: Brief;
  /** Where the run finds the broker, on its own 127.0.0.1. */
  port: number;
  /** Certificates, as PEM, that are trusted for hosts. */
  roots: readonly string[];
  pins: readonly Pin[];
  resolve: Resolve;
  say: (event: BrokerEvent) => void;
};

export type Broker = {
  server: Server;
  ca: string;
  /** Cuts off what is under way, and tells of it as far as it came. */
  end(): void;
};

const CONNECTIONS = 256;
const HEADERS_MS = 10_000;
const CONNECT_MS = 10_000;
/** A run may be refused as often as it likes; the journal is told this many times. */
const MAX_DENIALS = 1000;

/**
 * The broker of one run, behind one socket. It answers its own routes, and is an HTTP proxy for everything else; both ways
 * lead to the same judge.
 */
export function createBroker({ brief, port, roots, pins, resolve, say }: BrokerOptions): Broker {
  const authority = createAuthority(brief.expiresAt);
  const dial = createDial(resolve, CONNECT_MS, { halfOpen: false });
  const token = new TokenCheck(brief);
  const relaying: Relaying = {
    brief,
    token,
    judge: createJudge(brief),
    meter: new Meter(brief),
    upstream: new Upstream({
      dial,
      roots,
      pins,
      connectMs: CONNECT_MS,
      // As many as may be under way: who asks for so many at a time does it again.
      mostWaiting: brief.limits.concurrent,
    }),
    say,
    deny: createDeny(say),
    scrubbers: new Map(),
    flight: new Flight(),
  };
  const isOwn = (place: { host: string; port: number }) =>
    place.port === port && (place.host === '127.0.0.1' || place.host === 'localhost');

  const server = createServer(
    {
      maxHeaderSize: 32 * 1024,
      headersTimeout: Math.min(HEADERS_MS, brief.limits.timeMs),
      requestTimeout: brief.limits.timeMs,
      connectionsCheckingInterval: 1000,
      insecureHTTPParser: false,
      keepAliveTimeout: 60_000,
      highWaterMark: 256 * 1024,
    },
    (incoming, outgoing) => {
      outgoing.on('error', () => outgoing.destroy());
      tunnels.owes(incoming.socket, outgoing);
      // Whatever broke: the run sees a closed connection, and nothing of the reason.
      handle(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );
  server.maxConnections = CONNECTIONS;
  server.on('connection', (connection: Duplex) => connection.once('close', () => relaying.flight.endOn(connection)));
  const tunnels = createTunnels(server, relaying, authority, isOwn);

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url = '', method = '', headers } = incoming;
    const origin = tunnels.originOf(incoming.socket);
    const refuse = (fault: Fault, reason: string, host: string | null) => {
      relaying.deny(fault, { capability: null, method, host, reason });
      answerFault(outgoing, fault, reason);
    };
    const absolute = url.startsWith('/') ? null : parseUrl(url);
    const presented = origin === null ? token.presented(headers, incoming.socket) : token.now();
    if (absolute !== null && 'refused' in absolute) {
      if (presented === 'missing') return challenge(outgoing, false);
      return refuse('bad_request', absolute.refused, null);
    }
    const toUs = origin ?? absolute;
    const isRoute = toUs === null || isOwn(toUs);
    const path = absolute === null ? url : absolute.path + absolute.query;
    if (isRoute && path === '/v1/health') return answerJson(outgoing, 200, { status: 'ok' });
    if (presented === 'missing') return challenge(outgoing, isRoute);
    if (presented !== 'ok') return refuse('bad_token', wordsFor(presented), null);
    if (isRoute) return route(relaying, incoming, outgoing, path);
    const target = origin === null ? absolute : insideTunnel(incoming, origin, absolute);
    if (target === null) return refuse('bad_request', 'the request names no host', null);
    if ('refused' in target) return refuse('bad_request', target.refused, renderAuthority(toUs));
    return relay(relaying, askFrom(incoming, target, null), outgoing);
  };

  server.on('connect', tunnels.open);
  // No protocol but HTTP leaves through here; Node would otherwise answer the request as if it were a plain one.
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex) => {
    client.on('error', () => client.destroy());
    const isInside = tunnels.originOf(client) !== null;
    if (!isInside && token.presented(incoming.headers, client) === 'missing')
      return answerRaw(client, 407, 'no_token', wordsFor('missing'), CHALLENGE);
    relaying.deny('denied', { capability: null, method: incoming.method ?? '', host: null, reason: 'an upgrade' });
    answerRaw(client, 403, 'denied', 'only HTTP is passed on');
  });
  server.on('clientError', (_error: Error, client: Duplex) => {
    if (client.writable) answerRaw(client, 400, 'bad_request', 'this is no HTTP request');
    else client.destroy();
  });
  const end = () => {
    // Not by their connections: these are closed later than the process has time for.
    relaying.flight.end();
    server.closeAllConnections();
  };
  return { server, ca: authority.pem, end };
}

/** The host of a request inside a tunnel is the tunnel's; one that says another is refused. */
function insideTunnel({ headers, url = '' }: IncomingMessage, origin: Origin, absolute: Target | null) {
  // curl and others say it as it was written, in capitals too.
  const host = headers.host?.toLowerCase();
  const named = host === renderAuthority(origin) || host === `${origin.host}:${origin.port}`;
  if (absolute !== null || !named) return { refused: 'the request names another host than its tunnel' };
  return parsePath(origin, url);
}

/** Clients try without a credential first: that is no offence, and a proxy is to say that it wants one. */
function challenge(outgoing: ServerResponse, isRoute: boolean): void {
  if (isRoute) {
    answerFault(outgoing, 'no_token', wordsFor('missing'));
    return;
  }
  outgoing.setHeader('proxy-authenticate', 'Basic realm="skillbox"');
  answerFault(outgoing, 'no_token', wordsFor('missing'), 407);
}

function createDeny(say: (event: BrokerEvent) => void): (fault: Fault, denied: Denied) => void {
  let told = 0;
  return (_fault, denied) => {
    told++;
    if (told > MAX_DENIALS) return;
    const reason = told === MAX_DENIALS ? `${denied.reason}; further refusals are not told` : denied.reason;
    say({ event: 'denied', ...denied, reason });
  };
}
