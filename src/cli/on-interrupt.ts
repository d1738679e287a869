import { readFileSync } from 'node:fs';
import { EXIT } from '../base/index.ts';

/** As a shell tells of a program that this signal ended. */
const HUNG_UP = 129;
const SIGHUP_BIT = 1;

/** Answers whether there was anything to hurry. */
type Hurry = () => Promise<boolean>;
let hurry: Hurry | null = null;

/** What a second Ctrl-C or SIGTERM does while `body` goes on, which has to end in its own way; only a third ends the process then. */
export async function hurriedBy<T>(act: Hurry, body: () => Promise<T>): Promise<T> {
  hurry = act;
  try {
    return await body();
  } finally {
    hurry = null;
  }
}

/**
 * The first Ctrl-C, SIGTERM or SIGHUP asks the command to end cleanly; a second Ctrl-C or SIGTERM ends it as usual, or what it waits
 * for. Not so a second SIGHUP: when a terminal is closed, its shell and the kernel send one each.
 */
export function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  const listenNoMore = () => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
  const stop = (signal: NodeJS.Signals) => {
    const first = !controller.signal.aborted;
    // Where nothing is to be hurried, the next one is not ours: it works also when we are too busy to hear it.
    if (!first || hurry === null) listenNoMore();
    const end = () => process.kill(process.pid, signal);
    if (first) controller.abort();
    else if (hurry === null) end();
    else hurry().then(hurried => hurried || end(), end);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const immune = ignoredHangUp(process.env);
  process.on('SIGHUP', () => {
    if (immune || controller.signal.aborted) return;
    process.once('exit', code => {
      if (code === EXIT.failed) process.exitCode = HUNG_UP;
    });
    stop('SIGHUP');
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
