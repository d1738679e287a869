import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ErrorCode, SkillboxError } from '../../src/base/index.ts';
import type { BubblewrapOptions, Handle, Owner, RunIo, RunSpec, Sandbox } from '../../src/sandbox/index.ts';

/** A Sandbox that lives in a child process under another uid. */
export async function startRemote(
  options: BubblewrapOptions,
  uid: number,
): Promise<{
  sandbox: Sandbox;
  child: ChildProcess;
  owner: Owner;
  preheat(spec: RunSpec): Promise<boolean>;
  close(): Promise<void>;
}> {
  const script = fileURLToPath(new URL('./sandbox-child.ts', import.meta.url));
  const child = fork(script, [JSON.stringify(options)], {
    uid,
    gid: uid,
    cwd: '/',
    env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin', HOST_SECRET: 'host-secret-value' },
    serialization: 'advanced',
    execArgv: [],
  });
  let next = 0;
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: unknown) => void }>();
  const listeners = new Map<string, RunIo['onChunk']>();
  child.on(
    'message',
    (message: {
      id: number;
      value?: unknown;
      error?: { message: string; code?: string };
      chunk?: Uint8Array;
      stream?: 'stdout' | 'stderr';
      handle?: string;
    }) => {
      if (message.chunk && message.stream)
        return void listeners.get(message.handle ?? '')?.(message.stream, Buffer.from(message.chunk));
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error)
        reject?.(
          message.error.code
            ? new SkillboxError(message.error.code as ErrorCode, message.error.message)
            : new Error(message.error.message),
        );
      else resolve?.(message.value as never);
    },
  );
  child.on('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('the child ended'));
  });
  const ask = <T>(call: string, more: object = {}): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      child.send({ id, call, ...more });
    });
  const enforces = new Map();
  const handleOf = ({ id, owner }: { id: string; owner: Owner }): Handle => ({
    id,
    owner,
    async start(io: RunIo) {
      listeners.set(id, io.onChunk);
      const abort = () => void ask('abort', { handle: id });
      if (io.signal?.aborted) await ask('abort', { handle: id });
      io.signal?.addEventListener('abort', abort);
      const { onChunk: _, signal: __, ...rest } = io;
      const outcome = await ask<Awaited<ReturnType<Handle['start']>>>('start', {
        handle: id,
        io: rest,
        wantsChunks: io.onChunk !== null,
      });
      outcome.stdout.text = Buffer.from(outcome.stdout.text);
      outcome.stderr.text = Buffer.from(outcome.stderr.text);
      return outcome;
    },
    kill: () => ask('kill', { handle: id }),
    // The suite runs as root and can look at any path; the layout is the driver's, so it is asked once and kept.
    path: at => paths.get(`${id} ${at}`) ?? '',
    dispose: () => ask('dispose', { handle: id }),
  });
  const paths = new Map<string, string>();
  const sandbox: Sandbox = {
    name: 'bubblewrap',
    enforces,
    problems: async () => [],
    async check() {
      const { problems, enforces: found } = await ask<{ problems: []; enforces: Map<never, never> }>('check');
      for (const [key, value] of found) enforces.set(key, value);
      return problems;
    },
    async prepare(spec: RunSpec) {
      const made = await ask<{ id: string; owner: Owner }>('prepare', { spec });
      for (const mount of spec.mounts)
        if (mount.kind === 'out')
          paths.set(`${made.id} ${mount.at}`, await ask<string>('path', { handle: made.id, at: mount.at }));
      return handleOf(made);
    },
    standIn: async () => null,
    list: async owner => (await ask<{ id: string; owner: Owner }[]>('list', { owner })).map(handleOf),
    sweep: () => ask('sweep'),
    warm: async () => undefined,
    close: async () => undefined,
  };
  return {
    sandbox,
    child,
    owner: await ask<Owner>('owner'),
    preheat: spec => ask('preheat', { spec }),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise(resolve => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}
