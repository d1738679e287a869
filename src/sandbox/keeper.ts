import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { encodeFrame } from './helper.ts';
import { onLines } from './lines.ts';
import { newId, thisOwner } from './owner.ts';

/**
 * The helper's `keep`: a small process that forks the launchers. Forking Node itself copies its page tables and makes it
 * stand still for milliseconds, once for every run. It dies with the thread that started it, and every run with it.
 */
export type Keeper = {
  /** The control channel of a new launcher. */
  connect(): Promise<Socket>;
  /** Why there is none, where that is known. */
  problem(): Promise<string | null>;
  /** Takes away a tmpfs that a launcher mounted; one that is not there is no fault. */
  unmount(path: string): Promise<void>;
  close(): Promise<void>;
};

type Kept = { child: ChildProcess; control: Socket; home: string; socket: string; replies: ((line: string) => void)[] };

/** One for each helper, which is one in all but tests; each process of a keeper has a directory of its own in `homes`. */
export function createKeepers(homes: string): {
  homes: string;
  of: (helper: string) => Keeper;
  close(): Promise<void>;
} {
  const keepers = new Map<string, Keeper>();
  return {
    homes,
    of(helper) {
      const keeper = keepers.get(helper) ?? keeperOf(helper, homes);
      keepers.set(helper, keeper);
      return keeper;
    },
    async close() {
      for (const keeper of keepers.values()) await keeper.close();
    },
  };
}

/** Started at the first need, and anew when it died. */
function keeperOf(helper: string, homes: string): Keeper {
  let kept: Promise<Kept> | null = null;
  let fault: string | null = null;
  const stand = (): Promise<Kept> => kept ?? hold(begin(helper, homes, false).ready);
  const hold = (starting: Promise<Kept>): Promise<Kept> => {
    kept = starting;
    fault = null;
    const forget = () => {
      if (kept === starting) kept = null;
    };
    starting.then(
      ({ child, control }) => {
        child.once('exit', forget);
        // Its channel may close first: who asked it for something after that would never be answered.
        if (control.closed) forget();
        else control.once('close', forget);
      },
      error => {
        fault = error instanceof Error ? error.message : String(error);
        forget();
      },
    );
    return starting;
  };
  return {
    async connect() {
      if (kept === null) {
        // Nobody waits for the keeper to say that it is there: the channel of the first launcher comes with it.
        const { first, ready } = begin(helper, homes, true);
        void hold(ready); // its fault is kept for `problem`
        if (first !== null) return first;
      }
      const { socket } = await stand();
      const channel = connect(socket);
      await once(channel, 'connect');
      return channel;
    },
    async problem() {
      await kept?.catch(() => undefined);
      return fault;
    },
    async unmount(path) {
      const { control, replies } = await stand();
      const reply = new Promise<string>(resolve => replies.push(resolve));
      control.ref();
      control.write(encodeFrame([path]));
      const problem = (await reply).slice('unmounted '.length);
      if (replies.length === 0) control.unref();
      if (problem !== '') throw new SkillboxError('SANDBOX_FAILED', `${path} cannot be unmounted: ${problem}.`);
    },
    async close() {
      const last = await kept?.catch(() => null);
      kept = null;
      if (last === undefined || last === null) return;
      last.child.ref();
      last.control.destroy();
      if (last.child.exitCode === null && last.child.signalCode === null) await once(last.child, 'exit');
      rmSync(last.home, { recursive: true, force: true });
    },
  };
}

type Begun = { ready: Promise<Kept>; first: Socket | null };

function begin(helper: string, homes: string, withFirst: boolean): Begun {
  const home = join(homes, newId(thisOwner()));
  mkdirSync(home, { recursive: true, mode: 0o700 });
  // An empty environment: it becomes bwrap's, and bwrap's is /proc/1/environ of the sandbox.
  const child = spawn(helper, withFirst ? ['keep', 'first'] : ['keep'], {
    env: {},
    cwd: '/',
    // Ctrl-C is for us: we end the run, and give it its time.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', ...(withFirst ? ['pipe' as const] : [])],
  });
  const first = (child.stdio[4] as Socket | undefined) ?? null;
  first?.on('error', () => first.destroy()); // a keeper that could not be started: told by `ready`
  return { ready: settle(helper, home, child), first };
}

async function settle(helper: string, home: string, child: ChildProcess): Promise<Kept> {
  const control = child.stdio[3] as Socket;
  const replies: ((line: string) => void)[] = [];
  const problem = new Promise<string>(resolve => {
    child.once('error', error => resolve(error.message));
    control.once('close', () => {
      resolve('it ended');
      for (const reply of replies.splice(0)) reply('unmounted the helper ended');
    });
    control.on('error', () => control.destroy());
    onLines(control, line => {
      if (line.startsWith('ready ')) resolve('');
      else if (line.startsWith('error ')) resolve(line.slice(6));
      else replies.shift()?.(line);
    });
  });
  control.write(encodeFrame([home]));
  const said = await problem;
  if (said !== '' || child.pid === undefined) {
    control.destroy();
    await rm(home, { recursive: true, force: true });
    throw new SkillboxError('SANDBOX_FAILED', `The helper ${helper} could not be started: ${said}.`);
  }
  // It never keeps this process alive; whoever waits for a run holds that run's own channel.
  child.unref();
  control.unref();
  // Not by its own path, which may be longer than the 107 bytes that a socket's address has room for.
  return { child, control, home, socket: `/proc/${child.pid}/cwd/launch`, replies };
}
