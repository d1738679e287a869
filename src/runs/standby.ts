import type { ChildProgram, WaitingChild } from '../egress/index.ts';
import { createWarmPool, type WarmReport } from '../sandbox/index.ts';
import { programAt } from './way-out.ts';

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
  /** A run with a way out at this place is expected: what stands behind it is begun now, once, whether others are held ready or not. */
  expect(socket: string): void;
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
  let expected: { name: string; child: WaitingChild } | null = null;
  let expecting: Promise<void> = Promise.resolve();
  const begin = async (socket: string) => {
    const program = await programAt(socket);
    if (program === null) return;
    const { startWaiting } = await import('../egress/index.ts');
    expected = { name: program.name, child: startWaiting(program) };
    expected.child.idle(true);
  };
  const takeExpected = (name: string): WaitingChild | null => {
    if (expected?.name !== name) return null;
    const { child } = expected;
    expected = null;
    return child;
  };
  return {
    expect(socket) {
      expecting = begin(socket).catch(() => undefined); // the run starts its own, and tells what is wrong
    },
    take(program) {
      const begun = takeExpected(program.name);
      if (begun !== null) return begun;
      const taken = isOn ? pool.take({ key: program.name, label: program.name, program }) : null;
      if (taken !== null) waiting.delete(taken);
      return taken;
    },
    busy: () => pool.busy(),
    report() {
      return { ...pool.report(), bytes: [...waiting].reduce((sum, child) => sum + child.bytes(), 0) };
    },
    async close() {
      await expecting;
      const left = expected;
      expected = null;
      await Promise.all([left?.child.dispose(), pool.close()]);
    },
  };
}
