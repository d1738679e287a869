import type { Readable, Writable } from 'node:stream';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { renderSize, SkillboxError } from '../base/index.ts';
import type { Host } from './host.ts';
import { createServer } from './server.ts';
import { StreamTransport } from './stream-transport.ts';

/** A message is held whole before it is read. */
const MAX_MESSAGE = 10 * 1024 ** 2;

/** Serves one client on two streams, until it closes them or `signal` says so. */
export async function serveStandardStreams(
  host: Host,
  streams: { input: Readable; output: Writable },
  signal: AbortSignal,
): Promise<void> {
  let tooLarge = false;
  const transport = new StreamTransport(streams.input, streams.output, MAX_MESSAGE, () => {
    tooLarge = true;
  });
  const handle = serveStdio(
    () => {
      const mcp = createServer(host, true);
      host.live.add(mcp);
      return mcp;
    },
    { transport },
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
  // Where one message ends and the next begins is not known any more, so nothing could be answered.
  if (tooLarge)
    throw new SkillboxError('BODY_TOO_LARGE', `the client sent a message of more than ${renderSize(MAX_MESSAGE)}`, {
      hint: 'Send less at once; the agent starts the server again.',
    });
}
