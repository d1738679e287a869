// A host for bench/broker.ts, in a process of its own: small answers, large ones, and events, plain and with TLS. Prints its
// ports and the certificate to trust.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
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
  else if (kind === 'large') pour(outgoing.setHeader('content-type', 'text/plain'), BLOCK, Number(count));
  else if (kind === 'events') pour(outgoing.setHeader('content-type', 'text/event-stream'), EVENT, Number(count));
  else if (kind === 'slow') {
    outgoing.setHeader('content-type', 'text/event-stream');
    const timer = setInterval(() => outgoing.write(EVENT.repeat(20)), 20);
    outgoing.on('close', () => clearInterval(timer));
  } else outgoing.writeHead(404).end();
};
const servers = [
  createServer(answer),
  createSecure({ SNICallback: (name, done) => done(null, authority.contextFor(name)) }, answer),
];
for (const server of servers) {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
}
await Promise.all(servers.map(server => once(server, 'listening')));
const ports = servers.map(server => (server.address() as AddressInfo).port);
console.log(JSON.stringify({ ports, root: authority.pem }));
process.stdin.resume().on('end', () => process.exit(0));
