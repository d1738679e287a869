import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Threat: one address that opens every connection there is, and says nothing on them. */
export function limitConnections(server: Server, max: number, maxPerAddress: number | null): void {
  server.maxConnections = max;
  if (maxPerAddress === null) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    if (count > maxPerAddress) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}
