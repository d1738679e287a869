import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from './temp.ts';

/** As boot-systemd.sh does it. */
const OVERLAY = `
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root`;
const SYSTEMD = '/lib/systemd/systemd';

/** Why no systemd can be booted for a test here; null when one can. */
export function whyNoSystemd(): string | null {
  if (process.getuid?.() !== 0) return 'only root can make the namespaces of a whole system';
  if (!existsSync(SYSTEMD)) return 'systemd is not installed';
  const namespaces = ['--cgroup', '--mount', '--pid', '--ipc', '--uts', '--net', '--fork', 'sh', '-ec', OVERLAY];
  return spawnSync('unshare', namespaces).status === 0 ? null : 'namespaces or an overlay cannot be made here';
}

/** One that runs nothing but what it is told to. */
export type Systemd = {
  /** A directory that is /run/exchange inside. */
  exchange: string;
  systemctl(...words: string[]): { code: number | null; out: string };
  /** A command inside, as root; `files` are in /run/exchange then. */
  run(command: string, files: Record<string, string>): { code: number | null; out: string };
  /** Replaces what systemd knows of a unit, and reads it. */
  writeUnit(name: string, text: string): void;
  close(): Promise<void>;
};

/** `prepare`: shell words that are run before it begins; `$1` is the root that it will have, where everything may be written. */
export async function bootSystemd(prepare: string): Promise<Systemd> {
  const scratch = tempDir('systemd', 0o755);
  const exchange = join(scratch, 'exchange');
  mkdirSync(exchange);
  writeFileSync(join(exchange, 'prepare'), `#!/bin/sh\nset -eu\n${prepare}\n`);
  chmodSync(join(exchange, 'prepare'), 0o755);
  const child = spawn(join(import.meta.dirname, 'boot-systemd.sh'), [scratch], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (said += text));
  const ended = once(child, 'close');
  const inside = (...words: string[]) => {
    const pid = initOf(child.pid ?? 0);
    if (pid === null) return { code: null, out: said };
    const enter = ['-t', String(pid), '-a', '-r', '-w', ...words];
    const { status, stdout, stderr } = spawnSync('nsenter', enter, { encoding: 'utf8', timeout: 60_000 });
    return { code: status, out: `${stdout}${stderr}` };
  };
  const systemctl = (...words: string[]) => inside('systemctl', ...words);
  const close = async () => {
    // SIGTERM, upon which it kills its PID 1 and with it everything inside; then it removes its cgroups.
    child.kill('SIGTERM');
    await ended;
  };
  for (let tries = 0; !/running|degraded/.test(systemctl('is-system-running').out); tries++) {
    if (tries > 100 || child.exitCode !== null) {
      await close();
      throw new Error(`systemd did not start: ${said}`);
    }
    await sleep(100);
  }
  const run = (command: string, files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(exchange, name), text);
    return inside('sh', '-c', command);
  };
  const writeUnit = (name: string, text: string) => {
    run(`cp /run/exchange/${name} /run/systemd/system/`, { [name]: text });
    systemctl('daemon-reload');
  };
  return { exchange, systemctl, run, writeUnit, close };
}

/** The PID 1 of the namespaces below a process, as it is called here; null before there is one. */
function initOf(pid: number): number | null {
  for (const child of childrenOf(pid)) {
    const words = commandOf(child);
    if (words.startsWith(SYSTEMD)) return child;
    const deeper = initOf(child);
    if (deeper !== null) return deeper;
  }
  return null;
}

function childrenOf(pid: number): number[] {
  return readOr(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function commandOf(pid: number): string {
  return readOr(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // ended meanwhile
  }
}
