// The programs that the bench talks to: `skillbox serve` as it is built, and the bare server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { quiet } from './measure.ts';
import type { Load, Loaded } from './server-load.ts';

const root = join(import.meta.dirname, '..');

export type Started = { url: string; pid: number; key: string; stop(): Promise<void> };

/** On SQLite and a folder in `data`, with room for what is measured: quotas are not. */
export async function startSkillbox(data: string, slots: number, warm: number): Promise<Started> {
  const program = join(root, 'dist/cli/skillbox.cjs');
  if (!existsSync(program)) throw new Error('there is no dist/; run: npm run build');
  const env = {
    ...quiet(),
    HOME: data,
    SKILLBOX_DATA_DIR: data,
    SKILLBOX_SERVER_LOG_LEVEL: 'warn',
    SKILLBOX_RUNS_SLOTS: String(slots),
    SKILLBOX_RUNS_QUEUE_LIMIT: '1000000',
    SKILLBOX_QUOTAS_RUNNING: '10000',
    SKILLBOX_QUOTAS_QUEUED: '1000000',
    SKILLBOX_QUOTAS_STORAGE: '100Gi',
    SKILLBOX_QUOTAS_REQUESTS_PER_MINUTE: '10000000',
    SKILLBOX_WARM: String(warm),
  };
  const child = spawn(process.execPath, [program, 'serve', '--port', '0'], {
    env,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const url = await lineOf(child, 'stderr', /Serving at (\S+)/);
  const key = readFileSync(join(data, 'first-key'), 'utf8').trim();
  return { url, pid: child.pid ?? 0, key, stop: () => stop(child) };
}

export async function startBare(answer: string, file: string): Promise<Started> {
  const child = spawn(process.execPath, [join(root, 'bench/server-bare.ts'), answer, file], {
    env: quiet(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await lineOf(child, 'stdout', /^(\d+)\n/);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, key: '', stop: () => stop(child) };
}

async function lineOf(child: ChildProcess, stream: 'stdout' | 'stderr', wanted: RegExp): Promise<string> {
  let said = '';
  child[stream]?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  for (let tries = 0; tries < 600; tries++) {
    const found = wanted.exec(said)?.[1];
    if (found !== undefined) return found;
    if (child.exitCode !== null) break;
    await sleep(50);
  }
  child.kill('SIGKILL');
  throw new Error(`it did not start: ${said}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await ended;
  clearTimeout(timer);
}

/** Requests from a process of their own. Any answer but the expected one is a fault of the bench or of the server. */
export async function loadWith(load: Load, expected: string): Promise<Loaded> {
  const child = spawn(process.execPath, [join(root, 'bench/server-load.ts'), JSON.stringify(load)], {
    env: quiet(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the load ended with ${code}`);
  const loaded = JSON.parse(out) as Loaded;
  const others = Object.keys(loaded.statuses).filter(status => status !== expected);
  if (others.length > 0) throw new Error(`answers other than ${expected}: ${JSON.stringify(loaded.statuses)}`);
  return loaded;
}

/** Resident memory of a process, in MiB. */
export function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
