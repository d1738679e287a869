import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Host } from './host.ts';
import { createServer } from './server.ts';

/** Serves one client on two streams, until it closes them or `signal` says so. */
export async function serveStandardStreams(
  host: Host,
  streams: { input: Readable; output: Writable },
  signal: AbortSignal,
): Promise<void> {
  const transport = new StdioServerTransport(streams.input, streams.output);
  const handle = serveStdio(
    () => {
      const mcp = createServer(host, true);
      host.live.add(mcp);
      return mcp;
    },
    { transport, onerror: () => undefined },
  );
  await new Promise<void>(resolve => {
    const before = transport.onclose;
    transport.onclose = () => {
      before?.();
      resolve();
    };
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  host.live.clear();
  await handle.close();
}
