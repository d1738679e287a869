import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SkillboxError } from '../base/index.ts';

/** A program of ours that stands between a run and the network, as a process of its own. */
export type Child = { pid: number; ended: Promise<void>; close: () => Promise<void> };

export type ChildOptions = {
  /** For people: `egress proxy`. */
  name: string;
  /** Where it may lie, beside the module at `base`: from source, from dist/lib, and from a bundle in dist/cli. */
  places: readonly string[];
  base: string;
  /** Made for it, and removed with it. */
  directory: string;
  /** Said to it once, on its standard input, which then stays open as long as it shall live. */
  settings: unknown;
  /** Lines that it says; true for the one that means it is ready. */
  onLine: (line: string) => boolean;
};

const START_MS = 10_000;
const LEAVE_MS = 1000;

/**
 * Starts it with nothing but its settings: a fault in it reaches neither the store nor the vault of this process. It ends when
 * this process does, because its standard input ends then.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, directory, settings, onLine } = options;
  const program = findProgram(options);
  await mkdir(directory, { mode: 0o700 });
  const child = spawn(process.execPath, ['--no-warnings', program], {
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  child.stdin.on('error', () => undefined); // it died: `ended` tells
  const drained = new Promise<void>(resolve => child.stdout.once('close', resolve));
  const close = async () => {
    // It tells what it did last, and goes; whatever does not go is ended.
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), LEAVE_MS);
    await ended;
    clearTimeout(timer);
    // What it said last is still to be heard.
    if (child.pid !== undefined) await drained;
    await rm(directory, { recursive: true, force: true });
  };
  const ready = new Promise<boolean>(resolve => {
    const { createInterface } = process.getBuiltinModule('node:readline');
    createInterface({ input: child.stdout }).on('line', line => void (onLine(line) && resolve(true)));
    void ended.then(() => resolve(false));
    setTimeout(() => resolve(false), START_MS).unref();
  });
  child.stdin.write(`${JSON.stringify(settings)}\n`);
  if (!(await ready) || child.pid === undefined) {
    await close();
    throw new SkillboxError('INTERNAL', `The ${name} did not start.`, { hint: 'Is there room for one process?' });
  }
  return { pid: child.pid, ended, close };
}

function findProgram({ name, places, base }: ChildOptions): string {
  for (const place of places) {
    const path = fileURLToPath(new URL(place, base));
    if (existsSync(path)) return path;
  }
  throw new SkillboxError('INTERNAL', `The ${name} is not beside this program; it was not built.`);
}

const NOBODY = 65_534;

/** The uid that such a program takes; null where this process may not give it one. */
export function childUid(): number | null {
  return process.getuid?.() === 0 ? NOBODY : null;
}
