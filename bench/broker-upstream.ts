// Hosts for bench/broker.ts, in a process of their own, plain and with TLS: Node's server, with small answers, late ones, large
// ones and events, and a bare socket that has a single small answer ready. Prints their ports and the certificate to trust.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, createServer as createBare, type Socket } from 'node:net';
import { createServer as createBareSecure, type TlsOptions } from 'node:tls';
import { createAuthority } from '../src/broker/certificates.ts';

const SMALL = JSON.stringify({ content: 'x'.repeat(300), usage: { input_tokens: 10, output_tokens: 20 } });
const BLOCK = Buffer.alloc(64 * 1024, 'abcdefghij klmnopqrstuvwxyz 0123456789\n');
const EVENT = `event: delta\ndata: ${JSON.stringify({ text: 'y'.repeat(60) })}\n\n`;

/** As fast as it is taken. */
function pour(outgoing: ServerResponse, chunk: Buffer | string, count: number): void {
  let left = count;
  const more = () => {
    while (left > 0) {
      left--;
      if (!outgoing.write(chunk)) {
        outgoing.once('drain', more);
        return;
      }
    }
    outgoing.end();
  };
  more();
}

const authority = createAuthority(Date.now() + 3_600_000);
const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
  const [, kind, count = '0'] = (incoming.url ?? '').split('/');
  if (kind === 'small') outgoing.setHeader('content-type', 'application/json').end(SMALL);
  else if (kind === 'late')
    setTimeout(() => outgoing.setHeader('content-type', 'application/json').end(SMALL), Number(count));
  else if (kind === 'large') pour(outgoing.setHeader('content-type', 'text/plain'), BLOCK, Number(count));
  else if (kind === 'events') pour(outgoing.setHeader('content-type', 'text/event-stream'), EVENT, Number(count));
  else if (kind === 'slow') {
    outgoing.setHeader('content-type', 'text/event-stream');
    const timer = setInterval(() => outgoing.write(EVENT.repeat(20)), 20);
    outgoing.on('close', () => clearInterval(timer));
  } else outgoing.writeHead(404).end();
};
// What Node's server says, to the byte but for the date. Each request here is one packet without a body.
const READY = [
  'HTTP/1.1 200 OK',
  'content-type: application/json',
  `Date: ${new Date().toUTCString()}`,
  'Connection: keep-alive',
  'Keep-Alive: timeout=60',
  `Content-Length: ${SMALL.length}`,
  '',
  SMALL,
].join('\r\n');
const answerReadily = (socket: Socket) => {
  socket.setNoDelay(true).on('error', () => socket.destroy());
  socket.on('data', bytes => {
    if (bytes.toString('latin1', bytes.length - 4) === '\r\n\r\n') socket.write(READY, 'latin1');
  });
};
const options: TlsOptions = { SNICallback: (name, done) => done(null, authority.contextFor(name)) };
const keepAliveTimeout = 60_000;
const servers = {
  http: createServer({ keepAliveTimeout }, answer),
  https: createSecure({ ...options, keepAliveTimeout }, answer),
  'bare-http': createBare(answerReadily),
  'bare-https': createBareSecure(options, answerReadily),
};
const ports: Record<string, number> = {};
for (const [name, server] of Object.entries(servers)) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports[name] = (server.address() as AddressInfo).port;
}
console.log(JSON.stringify({ ports, root: authority.pem }));
process.stdin.resume().on('end', () => process.exit(0));
