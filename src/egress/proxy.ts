import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type EgressRules, findRule, parseAbsolute, parseAuthority, type Refusal } from './decide.ts';
import type { Dial } from './dial.ts';
import { onwardHeaders, returnHeaders } from './headers.ts';
import { Budget, type EgressLimits } from './limits.ts';

/** What the proxy did, for the journal and for errors that say why a build failed. */
export type EgressEvent = { kind: 'allowed' | 'refused'; target: string; reason: string | null };

export type ProxyOptions = {
  rules: EgressRules;
  limits: EgressLimits;
  dial: Dial;
  onEvent: (event: EgressEvent) => void;
};

/**
 * An HTTP proxy that reaches what its rules name and nothing else: CONNECT for tunnels, absolute-form GET and HEAD for
 * plain HTTP. It adds nothing and knows no secret; who may use it is decided by who has its socket.
 */
export function createProxy({ rules, limits, dial, onEvent }: ProxyOptions): Server {
  const sent = new Budget(limits.sentBytes);
  const received = new Budget(limits.receivedBytes);

  const reach = async (
    target: { host: string; port: number } | Refusal,
    shown: string,
  ): Promise<Socket | (Refusal & { status: number })> => {
    const refuse = (reason: string, status: number) => {
      onEvent({ kind: 'refused', target: shown.slice(0, 300), reason });
      return { refused: reason, status };
    };
    if ('refused' in target) return refuse(target.refused, 400);
    const rule = findRule(rules, target);
    if ('refused' in rule) return refuse(rule.refused, 403);
    const socket = await dial(rule);
    if ('refused' in socket) return refuse(socket.refused, 502);
    onEvent({ kind: 'allowed', target: shown.slice(0, 300), reason: null });
    socket.setTimeout(limits.idleMs, () => socket.destroy());
    const life = setTimeout(() => socket.destroy(), limits.lifeMs);
    socket.once('close', () => clearTimeout(life));
    // A peer that breaks off ends the connection, and `close` says so to the other side.
    socket.on('error', () => socket.destroy());
    return socket;
  };

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.headersMs,
      connectionsCheckingInterval: Math.min(limits.headersMs, 5000),
      insecureHTTPParser: false,
    },
    (incoming, outgoing) => {
      plain(incoming, outgoing).catch(() => outgoing.destroy()); // whatever broke: the run sees a closed connection
    },
  );
  server.maxConnections = limits.connections;
  server.keepAliveTimeout = limits.idleMs;

  const plain = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const url = incoming.url ?? '';
    const refuse = (status: number, reason: string) => {
      onEvent({ kind: 'refused', target: url.slice(0, 300), reason });
      answer(outgoing, status, reason);
    };
    if (incoming.method !== 'GET' && incoming.method !== 'HEAD') return refuse(405, `the method ${incoming.method}`);
    if (Number(incoming.headers['content-length'] ?? 0) > 0 || incoming.headers['transfer-encoding'] !== undefined)
      return refuse(413, 'a request with a body');
    const target = parseAbsolute(url);
    const socket = await reach(target, url);
    if ('refused' in socket) return answer(outgoing, socket.status, socket.refused);
    if ('refused' in target) return socket.destroy();
    if (!sent.take(url.length + incoming.rawHeaders.join('').length)) socket.destroy();
    const onward = request({
      createConnection: () => socket,
      method: incoming.method,
      path: target.path,
      headers: onwardHeaders(incoming.rawHeaders, target),
      setHost: false,
      maxHeaderSize: limits.headerBytes,
    });
    const fail = () => {
      if (outgoing.headersSent) outgoing.destroy();
      else answer(outgoing, 502, 'the host broke off');
    };
    // Nothing but HTTP is passed on; without a listener Node would drop the connection and tell nobody.
    onward.on('upgrade', (_response, upgraded) => {
      upgraded.destroy();
      fail();
    });
    onward.on('response', response => {
      const { statusCode: status = 0 } = response;
      // Threat: Node reads a status that it does not write, and the throw would end the proxy.
      if (status < 200) {
        response.destroy();
        return fail();
      }
      outgoing.writeHead(status, returnHeaders(response.rawHeaders));
      response.on('data', (chunk: Buffer) => {
        if (!received.take(chunk.length)) response.destroy();
      });
      response.on('close', () => void (response.complete || outgoing.destroy()));
      response.pipe(outgoing);
    });
    onward.on('error', fail);
    outgoing.on('close', () => socket.destroy());
    onward.end();
  };

  const tunnel = async (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy());
    const url = incoming.url ?? '';
    const socket = await reach(parseAuthority(url, null), url);
    if ('refused' in socket) {
      client.end(`HTTP/1.1 ${socket.status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    socket.on('close', () => client.destroy());
    client.on('close', () => socket.destroy());
    client.on('data', (chunk: Buffer) => void (sent.take(chunk.length) || socket.destroy()));
    socket.on('data', (chunk: Buffer) => void (received.take(chunk.length) || client.destroy()));
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0 && sent.take(head.length)) socket.write(head);
    client.pipe(socket);
    socket.pipe(client);
  };
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    tunnel(incoming, client, head).catch(() => client.destroy());
  });
  // No protocol but HTTP leaves through here; Node would otherwise answer the request as if it were a plain one.
  server.on('upgrade', (_incoming: IncomingMessage, client: Duplex) => client.destroy());
  server.on('clientError', (_error: Error, client: Duplex) => client.destroy());
  return server;
}

function answer(outgoing: ServerResponse, status: number, reason: string): void {
  outgoing.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
  outgoing.end(`skillbox: ${reason}\n`);
}
