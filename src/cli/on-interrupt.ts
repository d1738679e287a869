import { readFileSync } from 'node:fs';
import { EXIT } from '../base/index.ts';

/** As a shell tells of a program that this signal ended. */
const HUNG_UP = 129;
const SIGHUP_BIT = 1;

/**
 * The first Ctrl-C, SIGTERM or SIGHUP asks the command to end cleanly; a second Ctrl-C or SIGTERM ends it as usual. Not so a second
 * SIGHUP: when a terminal is closed, its shell and the kernel send one each.
 */
export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const immune = ignoredHangUp(process.env);
  process.on('SIGHUP', () => {
    if (immune || controller.signal.aborted) return;
    process.once('exit', code => {
      if (code === EXIT.failed) process.exitCode = HUNG_UP;
    });
    stop();
  });
  return controller.signal;
}

/**
 * Whether we were started to outlive the terminal, as by nohup. Node has made the signal the usual one again before any code of ours
 * runs, so this goes by what is left to see: the name that the shell gives to what it starts, and whether our parent ignores it too.
 */
function ignoredHangUp(env: NodeJS.ProcessEnv): boolean {
  return /(?:^|\/)nohup$/.test(env._ ?? '') || ignoresHangUp('self') || ignoresHangUp(process.ppid);
}

function ignoresHangUp(pid: number | 'self'): boolean {
  try {
    const [, ignored = '0'] =
      /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return (Number.parseInt(ignored, 16) & SIGHUP_BIT) !== 0;
  } catch {
    return false; // not Linux, or the parent has ended
  }
}
