import type { ChildProgram, WaitingChild } from '../egress/index.ts';
import { createWarmPool, type WarmReport } from '../sandbox/index.ts';

/** What is held ready of the processes that stand between runs and the network. */
export type StandbyReport = WarmReport & {
  /** What they have in memory, those that are still starting too. */
  bytes: number;
};

/**
 * Brokers and proxies that are loaded and were told nothing: starting one takes longer than most runs. Each is used once, for
 * the run whose settings it gets, and ends with it.
 */
export type Standby = {
  /** One that waits, which is then the caller's; null: the run starts its own. Either way it is a sign of demand. */
  take(program: ChildProgram): WaitingChild | null;
  /** A run begins; call what is returned when it has ended. Nothing is started ahead meanwhile. */
  busy(): () => void;
  report(): StandbyReport;
  close(): Promise<void>;
};

type Wanted = { key: string; label: string; program: ChildProgram };

/** One broker and one proxy at most, and those only where such runs were lately. */
const KINDS = 2;
const IDLE_MS = 25;
const KEEP_MS = 600_000;

export function createStandby(isOn: boolean): Standby {
  const waiting = new Set<WaitingChild>();
  const options = {
    inAll: isOn ? KINDS : 0,
    perKey: 1,
    idleMs: IDLE_MS,
    keepMs: KEEP_MS,
    cleanLater: false,
  };
  const pool = createWarmPool<Wanted, WaitingChild>(options, async ({ program }) => {
    const { startWaiting } = await import('../egress/index.ts');
    const child = startWaiting(program);
    waiting.add(child);
    void child.gone.then(() => waiting.delete(child));
    if (!(await child.up)) throw new Error(`a ${program.name} that was to wait has ended`);
    child.idle(true);
    return child;
  });
  return {
    take(program) {
      const taken = isOn ? pool.take({ key: program.name, label: program.name, program }) : null;
      if (taken !== null) waiting.delete(taken);
      return taken;
    },
    busy: () => pool.busy(),
    report() {
      return { ...pool.report(), bytes: [...waiting].reduce((sum, child) => sum + child.bytes(), 0) };
    },
    close: () => pool.close(),
  };
}
