import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { SkillboxError } from '../base/index.ts';
import { UP } from './serve.ts';

/** A program of ours that stands between a run and the network, as a process of its own. */
export type ChildProgram = {
  /** For people: `egress proxy`. */
  name: string;
  /** Where it may lie, beside the module at `base`: from source, from dist/lib, and from a bundle in dist/cli. */
  places: readonly string[];
  base: string;
};

export type Child = {
  pid: number;
  /** When the process is gone; true: it was not asked to go, however late we hear of it. */
  died: Promise<boolean>;
  close: () => Promise<void>;
};

/** All that a child is told, and how it is heard. */
export type ChildOptions = {
  /** Made for it, and removed with it. */
  directory: string;
  /** Said to it once, on its standard input, which then stays open as long as it shall live. */
  settings: unknown;
  /** Lines that it says; true for the one that means it is ready. */
  onLine: (line: string) => boolean;
};

/** A child that was told nothing yet: it is nobody's, and knows of no run. */
export type WaitingChild = {
  pid: number;
  /** Loaded, and waiting; false when it ended before. */
  up: Promise<boolean>;
  gone: Promise<void>;
  alive(): boolean;
  /** While idle it does not keep this process alive. */
  idle(yes: boolean): void;
  /** What it alone has in memory. */
  bytes(): number;
  dispose(): Promise<void>;
  /** Once: its settings, and with them its run. Null when it ends instead of getting ready. */
  begin(options: ChildOptions): Promise<Child | null>;
};

const START_MS = 10_000;
const LEAVE_MS = 1000;

/**
 * Starts it with nothing: a fault in it reaches neither the store nor the vault of this process. It ends when this process
 * does, because its standard input ends then.
 */
export function startWaiting(program: ChildProgram): WaitingChild {
  const child = spawn(process.execPath, ['--no-warnings', findProgram(program)], {
    env: {},
    cwd: '/',
    // Ctrl-C is for us: while the run ends in its own time, it may still ask.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const { pid } = child;
  const state = { over: false, isKilled: false };
  const died = new Promise<boolean>(resolve => {
    const end = (isAsked: boolean) => {
      state.over = true;
      resolve(!isAsked);
    };
    child.once('exit', code => end(code === 0 || state.isKilled));
    child.once('error', () => end(false));
  });
  const gone = died.then(() => undefined);
  if (pid === undefined) throw notStarted(program);
  child.stdin.on('error', () => undefined); // it died: `gone` tells
  const drained = new Promise<void>(resolve => child.stdout.once('close', resolve));
  const { promise: up, resolve: isUp } = Promise.withResolvers<boolean>();
  void gone.then(() => isUp(false));
  let heard: (line: string) => void = () => undefined;
  onLines(child.stdout, line => (line === UP ? isUp(true) : heard(line)));
  const dispose = async () => {
    // It tells what it did last, and goes; whatever does not go is ended.
    child.stdin.end();
    const timer = setTimeout(() => {
      state.isKilled = true;
      child.kill('SIGKILL');
    }, LEAVE_MS);
    await gone;
    clearTimeout(timer);
    // What it said last is still to be heard.
    await drained;
  };
  const idle = (yes: boolean) => {
    // Pipes of a child are sockets to Node.
    for (const one of [child, child.stdin as Socket, child.stdout as Socket]) {
      if (yes) one.unref();
      else one.ref();
    }
  };
  return {
    pid,
    up,
    gone,
    alive: () => !state.over,
    idle,
    bytes: () => ownBytes(pid),
    dispose: async () => {
      idle(false);
      await dispose();
    },
    async begin({ directory, settings, onLine }) {
      idle(false);
      try {
        await mkdir(directory, { mode: 0o700 });
      } catch (error) {
        await dispose(); // left to itself it would wait for as long as this process lives
        throw error;
      }
      const close = async () => {
        await dispose();
        await rm(directory, { recursive: true, force: true });
      };
      const ready = new Promise<boolean>(resolve => {
        heard = line => void (onLine(line) && resolve(true));
        void gone.then(() => resolve(false));
        setTimeout(() => resolve(false), START_MS).unref();
      });
      child.stdin.write(`${JSON.stringify(settings)}\n`);
      if (await ready) return { pid, died, close };
      await close();
      return null;
    },
  };
}

/** Starts it for one run, or gives that run to one which waits; if that one has died meanwhile, to a fresh one. */
export async function startChild(
  program: ChildProgram,
  options: ChildOptions,
  waiting: WaitingChild | null = null,
): Promise<Child> {
  const child = (await waiting?.begin(options)) ?? (await startWaiting(program).begin(options));
  if (child === null) throw notStarted(program);
  return child;
}

function notStarted({ name }: ChildProgram): SkillboxError {
  return new SkillboxError('INTERNAL', `The ${name} did not start.`, { hint: 'Is there room for one process?' });
}

function findProgram({ name, places, base }: ChildProgram): string {
  for (const place of places) {
    const path = fileURLToPath(new URL(place, base));
    if (existsSync(path)) return path;
  }
  throw new SkillboxError('INTERNAL', `The ${name} is not beside this program; it was not built.`);
}

/** Not by readline, which takes longer for a line than a broker does for what the line tells. */
function onLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

/** Zero where the system does not tell, or the process is gone. */
function ownBytes(pid: number): number {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ').map(Number);
    return (resident - shared) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** Of nearly every Linux; where pages are larger this says less than there is, for people only. */
const PAGE_BYTES = 4096;
const NOBODY = 65_534;

/** The uid that such a program takes; null where this process may not give it one. */
export function childUid(): number | null {
  return process.getuid?.() === 0 ? NOBODY : null;
}
