import { constants } from 'node:os';
import type { End, LimitEnd } from './sandbox.ts';

/** What our PID 1 has said, line by line. */
export type Report = {
  started: boolean;
  /** By us: what never started was then not the sandbox's fault. */
  killed: boolean;
  error: string | null;
  limit: 'memory' | 'pids' | null;
  exited: number | null;
  signaled: number | null;
  cpuMs: number;
  maxMemoryBytes: number;
};

export function newReport(): Report {
  return {
    started: false,
    killed: false,
    error: null,
    limit: null,
    exited: null,
    signaled: null,
    cpuMs: 0,
    maxMemoryBytes: 0,
  };
}

export function readReport(line: string, report: Report): void {
  const [word, first = '', second = ''] = line.split(' ');
  if (word === 'started') report.started = true;
  else if (word === 'error') report.error = line.slice(6);
  else if (word === 'limit' && (first === 'memory' || first === 'pids')) report.limit = first;
  else if (word === 'exited') report.exited = Number(first);
  else if (word === 'signaled') report.signaled = Number(first);
  else if (word === 'usage') {
    report.cpuMs = Number(first) / 1000;
    report.maxMemoryBytes = Number(second);
  }
}

/** What the kernel's counters and the disk say after the run. */
export type Evidence = { oom: boolean; pidsRefused: boolean; diskFull: () => Promise<boolean> };

/**
 * How the run ended. The kernel's events come before the exit code, which may be the 0 of a parent whose children were
 * killed; a limit that we saw ourselves before both. Null: it never ran.
 */
export async function endOf(report: Report, reason: LimitEnd | null, evidence: Evidence): Promise<End | null> {
  if (reason !== null && reason !== 'timeout' && reason !== 'canceled') return { kind: reason };
  if (evidence.oom || report.limit === 'memory') return { kind: 'out-of-memory' };
  if (reason !== null) return { kind: reason };
  if (evidence.pidsRefused || report.limit === 'pids') return { kind: 'pids-limit' };
  if (report.error !== null) return null;
  if (!report.started && !report.killed) return null;
  if (report.signaled === constants.signals.SIGXFSZ) return { kind: 'disk-limit' };
  if (report.started && report.exited !== 0 && (await evidence.diskFull())) return { kind: 'disk-limit' };
  if (report.exited !== null) return { kind: 'exited', code: report.exited };
  // PID 1 said nothing: it was killed from outside, which is SIGKILL for everything inside.
  return { kind: 'signaled', signal: report.signaled === null ? 'SIGKILL' : signalName(report.signaled) };
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}
