/** Runs a sandbox in a process of its own, so that tests can be another user, and can kill it. Speaks node's IPC. */
import {
  createBubblewrap,
  type Handle,
  type Owner,
  type RunIo,
  type RunSpec,
  thisOwner,
} from '../../src/sandbox/index.ts';
import { alwaysWarm } from './warmed.ts';

export type Request = {
  id: number;
  call: string;
  handle?: string;
  spec?: RunSpec;
  io?: Omit<RunIo, 'onChunk' | 'signal'>;
  /** What nobody wants is not sent: it would wait in the memory of both processes. */
  wantsChunks?: boolean;
  owner?: Owner;
  at?: string;
};

const options = JSON.parse(process.argv[2] ?? '{}');
const bubblewrap = createBubblewrap(options);
const sandbox = options.warm.inAll > 0 ? alwaysWarm(bubblewrap) : bubblewrap;
const handles = new Map<string, { handle: Handle; abort: AbortController }>();

async function answer(request: Request): Promise<unknown> {
  const known = handles.get(request.handle ?? '');
  if (request.call === 'check') return { problems: await sandbox.check(), enforces: sandbox.enforces };
  if (request.call === 'preheat' && request.spec) return bubblewrap.preheat(request.spec);
  if (request.call === 'sweep') return sandbox.sweep();
  if (request.call === 'owner') return thisOwner();
  if (request.call === 'list' && request.owner)
    return (await sandbox.list(request.owner)).map(({ id, owner }) => ({ id, owner }));
  if (request.call === 'prepare' && request.spec) {
    const handle = await sandbox.prepare(request.spec);
    handles.set(handle.id, { handle, abort: new AbortController() });
    return { id: handle.id, owner: handle.owner };
  }
  if (known === undefined) throw new Error(`no handle ${request.handle}`);
  if (request.call === 'start' && request.io)
    return known.handle.start({
      ...request.io,
      signal: known.abort.signal,
      onChunk:
        request.wantsChunks === true
          ? (stream, chunk) => void process.send?.({ chunk, stream, handle: request.handle })
          : null,
    });
  if (request.call === 'abort') return known.abort.abort();
  if (request.call === 'kill') return known.handle.kill();
  if (request.call === 'dispose') return known.handle.dispose();
  if (request.call === 'path') return known.handle.path(request.at ?? '');
  throw new Error(`no call ${request.call}`);
}

process.on('message', (request: Request) => {
  answer(request).then(
    value => process.send?.({ id: request.id, value }),
    (error: Error & { code?: string }) =>
      process.send?.({ id: request.id, error: { message: error.message, code: error.code } }),
  );
});
process.on('disconnect', () => void bubblewrap.close().finally(() => process.exit()));
