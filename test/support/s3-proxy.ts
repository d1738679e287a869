import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers itself and returns true, or lets the request pass. */
export type Meddle = (incoming: IncomingMessage, answer: ServerResponse) => boolean;

/** Stands between us and an S3 server: everything passes with its signature as it is, unless the test meddles. */
export async function startProxy(target: string, meddle: Meddle): Promise<{ endpoint: string; close(): void }> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, answer) => {
    if (meddle(incoming, answer)) {
      incoming.resume();
      return;
    }
    const { method, url: path, headers } = incoming;
    const outgoing = request({ hostname, port, method, path, headers }, reply => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${own}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
