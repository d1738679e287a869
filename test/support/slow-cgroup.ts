import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp.ts';

/** A FIFO in place of `cgroup.procs`: whoever joins waits until somebody reads. */
export function slowCgroup(): { procs: string; letIn: () => void } {
  const procs = join(tempDir('cgroup'), 'cgroup.procs');
  execFileSync('mkfifo', [procs]);
  const letIn = () => {
    const fd = openSync(procs, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(fd)); // not before it was written to: that would be EPIPE
  };
  return { procs, letIn };
}
