import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SkillboxError } from '../base/index.ts';
import type { EgressRules } from './decide.ts';
import type { EgressLimits } from './limits.ts';
import type { Settings } from './main.ts';
import type { EgressEvent } from './proxy.ts';

export type Egress = {
  /** The unix socket to mount into a run. */
  socket: string;
  /** What it did so far, bounded. */
  events: readonly EgressEvent[];
  pid: number;
  close(): Promise<void>;
};

/** From source, from dist/lib, and from a bundle in dist/cli. */
const PLACES = ['./main.ts', './main.js', './egress.js'];
const START_MS = 10_000;
const MAX_EVENTS = 1000;
const NOBODY = 65_534;

/**
 * Starts a proxy as a process of its own, with nothing but its rules: a fault in it reaches neither the store nor the
 * secrets of this one. `directory` is made for it, and removed with it.
 */
export async function startEgress(directory: string, rules: EgressRules, limits: EgressLimits): Promise<Egress> {
  await mkdir(directory, { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  const child = spawn(process.execPath, ['--no-warnings', findMain()], {
    env: {},
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  child.stdin.on('error', () => undefined); // it died: `ended` tells
  const close = async () => {
    child.stdin.end();
    child.kill('SIGKILL');
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  const events: EgressEvent[] = [];
  const ready = new Promise<boolean>(resolve => {
    createInterface({ input: child.stdout }).on('line', line => {
      const event = JSON.parse(line) as EgressEvent | { kind: 'ready' }; // from our own child
      if (event.kind === 'ready') resolve(true);
      else if (events.length < MAX_EVENTS) events.push(event);
    });
    void ended.then(() => resolve(false));
    setTimeout(() => resolve(false), START_MS).unref();
  });
  const settings: Settings = { directory, rules, limits, uid: isRoot ? NOBODY : null };
  child.stdin.write(`${JSON.stringify(settings)}\n`);
  if (!(await ready) || child.pid === undefined) {
    await close();
    throw new SkillboxError('INTERNAL', 'The egress proxy did not start.', { hint: 'Is there room for one process?' });
  }
  return { socket: join(directory, 'proxy.sock'), events, pid: child.pid, close };
}

function findMain(): string {
  for (const place of PLACES) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(path)) return path;
  }
  throw new SkillboxError('INTERNAL', 'The egress proxy is not beside this program; it was not built.');
}
