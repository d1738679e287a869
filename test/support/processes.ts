import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Every process of this machine, to look at: other tests run at the same time. */
export function allProcesses(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

/** What a process started, and what that did: only such processes are ours to stop. */
export function startedBy(pid = process.pid): number[] {
  return childrenOf(pid).flatMap(child => [child, ...startedBy(child)]);
}

export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** The program and its arguments, each ended by a zero; empty where it has ended. */
export function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Until what we started with this in its command line has nothing to do. */
export async function untilAsleep(word: string): Promise<void> {
  const isAsleep = (pid: number) => / S /.test(read(`/proc/${pid}/stat`).replace(/^.*\)/, ''));
  for (let quiet = 0, turn = 0; quiet < 3 && turn < 200; turn++) {
    quiet = startedBy()
      .filter(pid => commandOf(pid).includes(word))
      .every(isAsleep)
      ? quiet + 1
      : 0;
    await sleep(10);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // ended meanwhile
  }
}
