/**
 * What a sandbox adds to the start of a program: bare spawn beside bubblewrap, interleaved, in this process.
 *   node bench/run-start.ts [rounds]
 * Timed: prepare + start until the outcome is there (every process dead, output read), without dispose; bare is
 * child_process.spawn with pipes until 'close'. Limits on, cgroups as the host has them.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBubblewrap, DEFAULT_UIDS, type RunSpec, type Sandbox, warmOptions } from '../src/sandbox/index.ts';

const MiB = 1024 * 1024;
const rounds = Number(process.argv[2] ?? 40);
const pauseMs = Number(process.argv[3] ?? 0);
const programs: Record<string, { bare: string[]; argv: string[] }> = {
  bash: { bare: ['/usr/bin/bash', '-c', ':'], argv: ['bash', '-c', ':'] },
  python: { bare: ['/usr/bin/python3', '-I', '-S', '-c', 'pass'], argv: ['python3', '-I', '-S', '-c', 'pass'] },
  node: { bare: [process.execPath, '-e', '0'], argv: ['node', '-e', '0'] },
};

function spec(argv: string[]): RunSpec {
  return {
    argv,
    cwd: '/tmp',
    env: { HOME: '/root', LANG: 'C.UTF-8' },
    mounts: [
      { kind: 'tmpfs', at: '/tmp', bytes: 64 * MiB },
      { kind: 'tmpfs', at: '/root', bytes: MiB },
      { kind: 'out', at: '/sandbox/out', directories: ['files'] },
      { kind: 'text', at: '/sandbox/input.json', text: '{}' },
    ],
    limits: {
      timeMs: 30_000,
      graceMs: 1000,
      cpus: 2,
      memoryBytes: 256 * MiB,
      pids: 64,
      openFiles: 256,
      fileBytes: 64 * MiB,
      diskBytes: 64 * MiB,
      outputBytes: MiB,
    },
    network: { kind: 'none' },
    runtime: { kind: 'host', also: [] },
    tenant: null,
    requires: new Map(),
  };
}

function bare([program = '', ...args]: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: '/usr/bin' } });
    child.stdout.resume();
    child.stderr.resume();
    child.on('error', reject);
    child.on('close', () => resolve());
  });
}

const phases: Record<string, number[]> = {};
async function boxed(sandbox: Sandbox, argv: string[], name: string): Promise<() => Promise<void>> {
  const begun = performance.now();
  const handle = await sandbox.prepare(spec(argv));
  const prepared = performance.now();
  const outcome = await handle.start({ stdin: null, onChunk: null, keepBytes: MiB, signal: null });
  const ended = performance.now();
  if (outcome.end.kind !== 'exited' || outcome.end.code !== 0)
    throw new Error(JSON.stringify(outcome.end) + outcome.stderr.text);
  const add = (key: string, value: number) => {
    phases[key] ??= [];
    phases[key].push(value);
  };
  add(`${name} prepare`, prepared - begun);
  add(`${name} start`, ended - prepared);
  return async () => {
    const at = performance.now();
    await handle.dispose();
    add(`${name} dispose (not counted)`, performance.now() - at);
  };
}

const at = (values: number[], q: number) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * q)] ?? 0;
const render = (values: number[]) =>
  `${at(values, 0.5).toFixed(1)}/${at(values, 0.95).toFixed(1)} (${at(values, 0).toFixed(1)})`;

const stateDir = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
const options = {
  stateDir,
  uids: DEFAULT_UIDS,
  search: [join(import.meta.dirname, '../node_modules/.bin')],
  warm: warmOptions(0),
  bwrap: null,
  helper: null,
};
const drivers = {
  'bubblewrap, spare': createBubblewrap({ ...options, cgroups: true, spares: 1 }),
  bubblewrap: createBubblewrap({ ...options, cgroups: true, spares: 0 }),
  'bubblewrap, rlimits': createBubblewrap({ ...options, cgroups: false, spares: 0 }),
};
for (const sandbox of Object.values(drivers)) {
  const fatal = (await sandbox.check()).filter(problem => problem.fatal);
  if (fatal.length > 0) throw new Error(JSON.stringify(fatal));
}
const results = new Map<string, number[]>();
for (let round = -3; round < rounds; round++)
  for (const [program, { bare: command, argv }] of Object.entries(programs)) {
    const cases: [string, () => Promise<(() => Promise<void>) | void>][] = [
      ['bare', () => bare(command)],
      ...Object.entries(drivers).map(([name, sandbox]): [string, () => Promise<() => Promise<void>>] => [
        name,
        () => boxed(sandbox, argv, `${program}, ${name}`),
      ]),
    ];
    for (const [name, call] of cases) {
      if (pauseMs > 0) await sleep(pauseMs);
      const begun = performance.now();
      const after = await call();
      const took = performance.now() - begun;
      await after?.();
      if (round < 0) continue;
      const key = `${program}, ${name}`;
      results.set(key, [...(results.get(key) ?? []), took]);
    }
  }
console.log(`ms, p50/p95 (min), n=${rounds}, pause before each ${pauseMs} ms, uid ${process.getuid?.()}`);
for (const program of Object.keys(programs)) {
  const base = at(results.get(`${program}, bare`) ?? [], 0.5);
  for (const [key, values] of results)
    if (key.startsWith(`${program},`))
      console.log(`${key.padEnd(34)} ${render(values).padEnd(24)} +${(at(values, 0.5) - base).toFixed(1)}`);
}
for (const [key, values] of Object.entries(phases)) console.log(`  ${key.padEnd(56)} ${render(values)}`);
for (const sandbox of Object.values(drivers)) await sandbox.close();
await rm(stateDir, { recursive: true, force: true });
