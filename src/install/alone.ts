import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { errnoOf } from '../base/index.ts';

/**
 * A name of this machine that one process at a time can hold, and that goes with it: for commands that share a project and no data
 * directory. Null when somebody holds it. It is no file: what lies in a project came from others, and could say that somebody is at work.
 */
export async function holdName(root: string): Promise<(() => Promise<void>) | null> {
  const name = nameOf(root);
  if (name === null) return async () => undefined;
  const server = createServer(socket => socket.destroy());
  try {
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen({ path: name }, done);
    });
  } catch (cause) {
    if (errnoOf(cause) === 'EADDRINUSE') return null;
    // Where there are no such names at all, the lock of the data directory is what there is.
    return async () => undefined;
  }
  server.unref();
  return () => new Promise(done => server.close(() => done()));
}

/** Other systems have none that goes with its process. */
function nameOf(root: string): string | null {
  const key = `skillbox-install-${createHash('sha256').update(root).digest('hex').slice(0, 32)}`;
  if (process.platform === 'linux') return `\0${key}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${key}` : null;
}
